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
        The process is killed with SIGKILL, in the middle of whatever it does.
        {supervised === true &&
          ' Its supervisor starts it again at once, and runs that can be resumed go on at the event where they were.'}
      </p>
      {supervised === false && (
        <p className="warning">
          Nothing will start it again but you: it was not started with <code>--supervise</code>. When you have, runs
          that can be resumed go on at the event where they were.
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
      <p role="status">{told(death)}</p>
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

function told(death: Death): string {
  switch (death.at) {
    case 'alive':
    case 'asked':
      return ''
    case 'killing':
      return 'The server is being killed.'
    case 'gone':
      return 'The server is gone. Viewers go on when it is back.'
    case 'lost':
      return 'The server has not come back: nothing started it again.'
    case 'unharmed':
      return 'The server lives: it did not run the script that kills it.'
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
