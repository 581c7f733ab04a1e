/** Webhooks that exhausted their retries: owner, reason, and a retry button. */
import { useEffect, useState } from 'react'
import { type DeadLetter, readDeadLetters, retryDeadLetter } from '../api.ts'
import { count, moment, shortId } from '../format.ts'
import { Problem } from '../parts.tsx'
import { Link } from '../router.tsx'
import { useSession } from '../session.ts'

export function DeadLetters({ count: total }: { readonly count: number }) {
  const session = useSession()
  const [letters, setLetters] = useState<readonly DeadLetter[]>([])
  const [problem, setProblem] = useState<unknown>()
  useEffect(() => {
    const leaving = new AbortController()
    readDeadLetters(session, leaving.signal).then(setLetters, (cause: unknown) => {
      if (!leaving.signal.aborted) setProblem(cause)
    })
    return () => leaving.abort()
  }, [session])
  const retry = async (letter: DeadLetter): Promise<void> => {
    try {
      await retryDeadLetter(session, letter, AbortSignal.timeout(RETRY_MS))
      setLetters((all) => all.filter((each) => each !== letter))
    } catch (cause) {
      setProblem(cause)
    }
  }
  return (
    <section className="card dead-letters">
      <h2>{total === 1 ? '1 dead letter' : `${count(total)} dead letters`}</h2>
      <p className="hint">Webhooks whose receiver did not accept them. A retry continues where each one stopped.</p>
      {problem !== undefined && <Problem cause={problem} />}
      <ul>
        {letters.map((letter) => (
          <li key={`${letter.taskId}/${letter.configId}`}>
            <Link to={`/runs/${encodeURIComponent(letter.taskId)}`} title={letter.taskId}>
              Run {shortId(letter.taskId)}
            </Link>
            <span title={moment(letter.since)}>
              {letter.error ?? 'no reason was given'}, after {count(letter.attempts)} attempts
            </span>
            <button type="button" onClick={() => void retry(letter)}>
              Try again
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

const RETRY_MS = 30_000
