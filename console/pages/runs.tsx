/** All runs, newest first, as they change. */
import type { RunStatus } from 'holdfast/client'
import { type FormEvent, useEffect, useState } from 'react'
import { readRuns, type RunRow, type RunRows } from '../api.ts'
import { age, count, duration, moment, shortId, shortSession } from '../format.ts'
import { Empty, Loading, Problem, Status, useNow } from '../parts.tsx'
import { Link, navigate, usePlace, withQuery } from '../router.tsx'
import { type Session, useSession } from '../session.ts'
import { useComponents } from '../components.ts'

const STATUSES: readonly RunStatus[] = ['queued', 'running', 'paused', 'completed', 'failed', 'cancelled', 'rejected']
const WHOLE_ID = /^run_[0-9a-z]{26}$/
const RETRY_MS = 2000
const RETRY_MS_MAX = 30_000

export function RunsPage() {
  const place = usePlace()
  const session = useSession()
  const { rows, problem } = useLiveRuns(session, place.query.toString())
  const now = useNow()
  const older = rows?.cursor
  const filtered = ['component', 'status', 'session', 'search', 'cursor'].some((name) => place.query.has(name))
  return (
    <>
      <div className="page-head">
        <h1>Runs</h1>
        <Link to="/start" className="button primary">
          Start a run
        </Link>
      </div>
      <Filters />
      {problem !== undefined && <Problem cause={problem} />}
      {rows === undefined && problem === undefined && <Loading what="runs" />}
      {rows !== undefined && rows.runs.length === 0 && (
        <Empty title={emptyTitle(filtered, older !== undefined)}>
          <p>{filtered ? <Link to="/">Show all runs</Link> : <Link to="/start">Start the first one</Link>}</p>
        </Empty>
      )}
      {rows !== undefined && rows.runs.length > 0 && <RunTable runs={rows.runs} now={now} />}
      {(older !== undefined || place.query.has('cursor')) && (
        <nav className="pager" aria-label="Pages of runs">
          {place.query.has('cursor') && <Link to={withQuery(place, { cursor: undefined })}>Newest</Link>}
          {older !== undefined && <Link to={withQuery(place, { cursor: older })}>Older</Link>}
        </nav>
      )}
    </>
  )
}

function emptyTitle(filtered: boolean, goesOn: boolean): string {
  if (goesOn) return 'No run fits so far: look at older ones'
  return filtered ? 'No run fits these filters' : 'No runs yet'
}

interface LiveRuns {
  readonly rows: RunRows | undefined
  readonly problem: unknown
}

/** One waiting request, and none while nobody looks; what fails is tried again ever more slowly. */
function useLiveRuns(session: Session, query: string): LiveRuns {
  const [live, setLive] = useState<LiveRuns & { query: string }>({ rows: undefined, problem: undefined, query })
  useEffect(() => {
    const leaving = new AbortController()
    const { signal } = leaving
    const follow = async (): Promise<void> => {
      let known: string | undefined
      for (let failures = 0; !signal.aborted;) {
        await visible(signal)
        try {
          const rows = await readRuns(session, query, known, signal)
          known = rows.version
          failures = 0
          if (!signal.aborted) setLive({ rows, problem: undefined, query })
        } catch (problem) {
          if (signal.aborted) return
          setLive((before) => ({ ...before, problem, query }))
          await new Promise((resolve) => setTimeout(resolve, Math.min(RETRY_MS * 2 ** failures++, RETRY_MS_MAX)))
        }
      }
    }
    void follow()
    return () => leaving.abort()
  }, [session, query])
  return live.query === query ? live : { rows: undefined, problem: undefined }
}

function visible(signal: AbortSignal): Promise<void> {
  if (document.visibilityState === 'visible') return Promise.resolve()
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.visibilityState !== 'visible' && !signal.aborted) return
      document.removeEventListener('visibilitychange', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    signal.addEventListener('abort', look, { once: true })
  })
}

function Filters() {
  const place = usePlace()
  const { components = [] } = useComponents()
  const [search, setSearch] = useState(place.query.get('search') ?? '')
  const filter = (changes: Readonly<Record<string, string | undefined>>): void =>
    navigate(withQuery(place, { ...changes, cursor: undefined }))
  const find = (event: FormEvent): void => {
    event.preventDefault()
    const text = search.trim()
    if (WHOLE_ID.test(text)) navigate(`/runs/${encodeURIComponent(text)}`)
    else filter({ search: text })
  }
  const known = components.map(({ id }) => id)
  const chosen = place.query.get('component') ?? ''
  const session = place.query.get('session')
  return (
    <form className="filters" role="search" onSubmit={find}>
      <label>
        Component
        <select value={chosen} onChange={({ target }) => filter({ component: target.value })}>
          <option value="">All</option>
          {[...new Set([...known, ...(chosen === '' ? [] : [chosen])])].map((id) => (
            <option key={id}>{id}</option>
          ))}
        </select>
      </label>
      <label>
        Status
        <select value={place.query.get('status') ?? ''} onChange={({ target }) => filter({ status: target.value })}>
          <option value="">All</option>
          <option value="queued,running,paused">unfinished</option>
          {STATUSES.map((status) => (
            <option key={status}>{status}</option>
          ))}
        </select>
      </label>
      <label className="grow">
        Search
        <input
          type="search"
          placeholder="a part of the run's id, its component or its session"
          value={search}
          onChange={({ target }) => setSearch(target.value)}
        />
      </label>
      <button type="submit">Find</button>
      {session !== null && (
        <button
          type="button"
          className="quiet"
          title={`Only session ${session}; press to see all`}
          onClick={() => filter({ session: undefined })}
        >
          Session {shortSession(session)}
          <span aria-hidden="true">{'\u00a0✕'}</span>
        </button>
      )}
    </form>
  )
}

function RunTable({ runs, now }: { readonly runs: readonly RunRow[]; readonly now: number }) {
  return (
    <div className="table-scroll runs" tabIndex={0} role="region" aria-label="Runs">
      <table>
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Status</th>
            <th scope="col">Session</th>
            <th scope="col" className="number">
              Age
            </th>
            <th scope="col" className="number">
              Duration
            </th>
            <th scope="col" className="number">
              Events
            </th>
            <th scope="col" className="number">
              Tokens
            </th>
            <th scope="col" className="number">
              Attempts
            </th>
            <th scope="col">Started by</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <RunLine key={run.id} run={run} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function RunLine({ run, now }: { readonly run: RunRow; readonly now: number }) {
  const { id, component, session, status, createdAt, startedAt, finishedAt, events, tokens, attempt, protocol } = run
  const took =
    startedAt === undefined
      ? undefined
      : (finishedAt === undefined ? now : Date.parse(finishedAt)) - Date.parse(startedAt)
  return (
    <tr>
      <th scope="row">
        <Link to={`/runs/${encodeURIComponent(id)}`} title={id}>
          <span className="run-component">{component}</span> <code>{shortId(id)}</code>
        </Link>
      </th>
      <td>
        <Status status={status} />
      </td>
      <td>
        <Link to={`/?session=${encodeURIComponent(session)}`} className="session" title={session}>
          {shortSession(session)}
        </Link>
      </td>
      <td className="number" title={moment(createdAt)}>
        {age(createdAt, now)}
      </td>
      <td className="number">{took === undefined ? '–' : duration(took)}</td>
      <td className="number">{count(events)}</td>
      <td className="number">{tokens === undefined ? '–' : count(tokens)}</td>
      <td className="number">{attempt}</td>
      <td>{protocol ?? '–'}</td>
    </tr>
  )
}
