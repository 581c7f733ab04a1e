/** Live list of runs, newest first. */
import type { RunStatus } from 'holdfast/client'
import { type FormEvent, useState } from 'react'
import type { RunRow } from '../api.ts'
import { useComponents } from '../components.ts'
import { age, count, duration, moment, shortId, shortSession } from '../format.ts'
import { Empty, Loading, Problem, Status, useNow } from '../parts.tsx'
import { Link, navigate, useLocation, withQuery } from '../router.tsx'
import { type FoundRuns, goesOn } from '../runs/found-runs.ts'
import { useLiveRuns } from '../runs/live-runs.ts'
import { useSession } from '../session.ts'

const STATUSES: readonly RunStatus[] = ['queued', 'running', 'paused', 'completed', 'failed', 'cancelled', 'rejected']
const WHOLE_ID = /^run_[0-9a-z]{26}$/

export function RunsPage() {
  const location = useLocation()
  const session = useSession()
  const { found, problem } = useLiveRuns(session, location.query.toString())
  const now = useNow()
  const older = found === undefined || goesOn(found) ? undefined : found.cursor
  const isSearch = found?.searched !== undefined
  const filtered = ['component', 'status', 'session', 'search', 'cursor'].some((name) => location.query.has(name))
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
      {found === undefined && problem === undefined && <Loading what="runs" />}
      {found !== undefined && found.rows.length === 0 && !goesOn(found) && (
        <Empty title={emptyTitle(filtered, older !== undefined)}>
          <p>{filtered ? <Link to="/">Show all runs</Link> : <Link to="/start">Start the first one</Link>}</p>
        </Empty>
      )}
      {found !== undefined && found.rows.length > 0 && <RunTable runs={found.rows} now={now} />}
      {found !== undefined && <Searched found={found} />}
      {(older !== undefined || location.query.has('cursor')) && (
        <nav className="pager" aria-label="Pages of runs">
          {location.query.has('cursor') && <Link to={withQuery(location, { cursor: undefined })}>Newest</Link>}
          {older !== undefined && (
            <Link to={withQuery(location, { cursor: older })}>{isSearch ? 'Search further' : 'Older'}</Link>
          )}
        </nav>
      )}
    </>
  )
}

function emptyTitle(filtered: boolean, goesFurther: boolean): string {
  if (goesFurther) return 'No match so far: search further'
  return filtered ? 'No run matches these filters' : 'No runs yet'
}

/** Progress of a search. */
function Searched({ found }: { readonly found: FoundRuns }) {
  const { searched, cursor } = found
  if (searched === undefined) return null
  const back = searched.backTo === undefined ? '' : `, back to ${moment(searched.backTo)}`
  const looked = `${count(searched.runs)} runs searched${back}`
  return (
    <p className="hint searched" role="status">
      {goesOn(found) ? `Searching: ${looked}…` : `${looked}${cursor === undefined ? ': all of them' : ''}.`}
    </p>
  )
}

function Filters() {
  const location = useLocation()
  const { components = [] } = useComponents()
  const [search, setSearch] = useState(location.query.get('search') ?? '')
  const filter = (changes: Readonly<Record<string, string | undefined>>): void =>
    navigate(withQuery(location, { ...changes, cursor: undefined }))
  const find = (event: FormEvent): void => {
    event.preventDefault()
    const text = search.trim()
    if (WHOLE_ID.test(text)) navigate(`/runs/${encodeURIComponent(text)}`)
    else filter({ search: text })
  }
  const known = components.map(({ id }) => id)
  const chosen = location.query.get('component') ?? ''
  const session = location.query.get('session')
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
        <select value={location.query.get('status') ?? ''} onChange={({ target }) => filter({ status: target.value })}>
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
          placeholder="part of a run's id, component or session"
          value={search}
          onChange={({ target }) => setSearch(target.value)}
        />
      </label>
      <button type="submit">Find</button>
      {session !== null && (
        <button
          type="button"
          className="quiet"
          title={`Only session ${session}; click to show all`}
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
