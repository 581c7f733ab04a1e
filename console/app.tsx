/** Page frame: navigation and sign-in. */
import { type ReactNode, useEffect, useRef, useSyncExternalStore } from 'react'
import { BreakPage } from './pages/break.tsx'
import { KeyPage } from './pages/key.tsx'
import { RunPage } from './pages/run.tsx'
import { RunsPage } from './pages/runs.tsx'
import { ServerPage } from './pages/server.tsx'
import { StartPage } from './pages/start.tsx'
import { Empty } from './parts.tsx'
import { Link, useLocation } from './router.tsx'
import { signIn, useSession } from './session.ts'

const NAVIGATION = { '/': 'Runs', '/start': 'Start', '/break': 'Break it', '/server': 'Server' } as const

export function App() {
  const { path } = useLocation()
  const session = useSession()
  const { failing } = useSyncExternalStore(session.connection.subscribe, session.connection.state)
  const page = pageAt(path)
  const main = useRef<HTMLElement>(null)
  const shownPath = useRef(path)
  useEffect(() => {
    document.title = `${page.title} · Holdfast`
  }, [page.title])
  // Moves the focus into the new page, so that keyboard users continue there and screen readers announce it.
  useEffect(() => {
    if (shownPath.current !== path) main.current?.focus({ preventScroll: true })
    shownPath.current = path
  }, [path])
  return (
    <>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="bar">
        <Link to="/" className="brand" title="All runs">
          <Mark />
          <span>Holdfast</span>
        </Link>
        <nav aria-label="Pages">
          {(session.isShared ? [] : Object.entries(NAVIGATION)).map(([to, title]) => (
            <Link key={to} to={to} current={to === path || (to === '/' && path.startsWith('/runs'))}>
              {title}
            </Link>
          ))}
        </nav>
        <span className="bar-state" role="status">
          {failing && <span className="reconnecting">Reconnecting…</span>}
        </span>
        {session.key !== undefined && !session.isShared && (
          <button type="button" className="quiet" onClick={() => signIn(undefined)}>
            Forget key
          </button>
        )}
      </header>
      <main id="main" tabIndex={-1} ref={main}>
        {session.refused && session.isShared ? (
          <Empty title="This link has expired or was revoked" />
        ) : session.refused ? (
          <KeyPage rejected={session.key !== undefined} />
        ) : (
          page.show()
        )}
      </main>
    </>
  )
}

interface Page {
  readonly title: string
  readonly show: () => ReactNode
}

function pageAt(path: string): Page {
  const [, first = '', id] = path.split('/')
  if (path === '/' || path === '/runs') return { title: 'Runs', show: () => <RunsPage /> }
  if (first === 'runs' && id !== undefined) {
    const run = decodeURIComponent(id)
    return { title: `Run ${run}`, show: () => <RunPage key={run} id={run} /> }
  }
  if (path === '/start') return { title: 'Start', show: () => <StartPage /> }
  if (path === '/break') return { title: 'Break it', show: () => <BreakPage /> }
  if (path === '/server') return { title: 'Server', show: () => <ServerPage /> }
  return { title: 'Nothing here', show: () => <Empty title="There is no such page" /> }
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" width="24" height="24" fill="none" aria-hidden="true">
      <rect width="32" height="32" rx="8" className="mark-back" />
      <path d="M16 6c-3 3 3 5 0 8s3 5 0 8" className="mark-line" />
      <path d="M16 22c-1 3-4 3-6 4M16 22c1 3 4 3 6 4M16 22v5" className="mark-line" />
    </svg>
  )
}
