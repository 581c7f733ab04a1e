/** Kills the server's process through the lab, and shows it come back. */
import { useEffect, useRef, useState } from 'react'
import { readServer } from '../api.ts'
import { duration } from '../format.ts'
import { type Session, useSession } from '../session.ts'

const LOOK_MS = 250
/** Maximum number of checks. */
const LOOKS_MAX = 480

type Death =
  | { readonly at: 'alive' | 'asked' | 'killing' | 'gone' | 'lost' | 'unharmed' }
  | { readonly at: 'back'; readonly pid: number; readonly before: number; readonly afterMs: number }

export function Kill() {
  const session = useSession()
  const [death, setDeath] = useState<Death>({ at: 'alive' })
  const supervised = useSupervised(session)
  const leaving = useRef<AbortController>(undefined)
  useEffect(() => () => leaving.current?.abort(), [])
  const kill = (): void => {
    leaving.current = new AbortController()
    void killAndWatch(session, setDeath, leaving.current.signal)
  }
  const busy = death.at === 'killing' || death.at === 'gone'
  return (
    <section className="card kill">
      <h2>Kill the server</h2>
      <p>
        The process is killed with SIGKILL, in the middle of its work.
        {supervised === true &&
          ' Its supervisor restarts it at once, and resumable runs continue from their last event.'}
      </p>
      {supervised === false && (
        <p className="warning">
          Nothing restarts it: it runs without <code>--supervise</code>. After you restart it, resumable runs continue
          from their last event.
        </p>
      )}
      <div className="buttons">
        {death.at === 'asked' ? (
          <>
            <button type="button" className="danger" onClick={kill}>
              Yes, kill it
            </button>
            <button type="button" onClick={() => setDeath({ at: 'alive' })}>
              No
            </button>
          </>
        ) : (
          <button type="button" className="danger" disabled={busy} onClick={() => setDeath({ at: 'asked' })}>
            {supervised === false ? 'Kill the server for good' : 'Kill the server'}
          </button>
        )}
      </div>
      <p role="status">{statusText(death)}</p>
    </section>
  )
}

/** Undefined until the server has responded. */
function useSupervised(session: Session): boolean | undefined {
  const [supervised, setSupervised] = useState<boolean>()
  useEffect(() => {
    const leaving = new AbortController()
    readServer(session, leaving.signal).then(
      (report) => setSupervised(report.supervised),
      () => {},
    )
    return () => leaving.abort()
  }, [session])
  return supervised
}

function statusText(death: Death): string {
  switch (death.at) {
    case 'alive':
    case 'asked':
      return ''
    case 'killing':
      return 'The server is being killed.'
    case 'gone':
      return 'The server is down. Viewers reconnect when it is back.'
    case 'lost':
      return 'The server has not come back: nothing restarted it.'
    case 'unharmed':
      return 'The server is still alive: it did not run the script that kills it.'
    case 'back':
      return `The server is back after ${duration(death.afterMs)}: process ${death.before} was killed, process ${death.pid} serves.`
  }
}

async function killAndWatch(session: Session, show: (death: Death) => void, signal: AbortSignal): Promise<void> {
  show({ at: 'killing' })
  const before = await pidOf(session, signal)
  const since = performance.now()
  // The response may be lost with the server.
  void session.client.runs.start({ component: 'lab-resume', input: 'sleep 100; die 1' }).catch(() => {})
  let gone = false
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    const pid = await pidOf(session, signal)
    if (signal.aborted) return
    if (pid !== undefined && pid !== before)
      return show({ at: 'back', pid, before: before ?? 0, afterMs: performance.now() - since })
    gone ||= pid === undefined
    if (gone) show({ at: 'gone' })
  }
  show({ at: gone ? 'lost' : 'unharmed' })
}

/** Undefined if the server does not respond. */
async function pidOf(session: Session, signal: AbortSignal): Promise<number | undefined> {
  try {
    return (await readServer(session, signal)).process.pid
  } catch {
    return undefined
  }
}
