/** Server page: health, storage, load, upstreams and limits. */
import type { RunInfo } from 'holdfast/client'
import { useEffect, useState } from 'react'
import { readServer, type ServerReport } from '../api.ts'
import { bytes, count, duration } from '../format.ts'
import { DeadLetters } from '../server/dead-letters.tsx'
import { Upstreams } from '../server/upstreams.tsx'
import { Fact, Loading, Problem } from '../parts.tsx'
import { Link } from '../router.tsx'
import { useSession } from '../session.ts'

const LOOK_MS = 2000
const RECENT_RUNS = 200

export function ServerPage() {
  const session = useSession()
  const [report, setReport] = useState<ServerReport>()
  const [recent, setRecent] = useState<readonly RunInfo[]>([])
  const [problem, setProblem] = useState<unknown>()
  useEffect(() => {
    const leaving = new AbortController()
    const look = async (): Promise<void> => {
      if (document.visibilityState !== 'visible') return
      try {
        setReport(await readServer(session, leaving.signal))
        setRecent((await session.client.runs.list({ limit: RECENT_RUNS }, { signal: leaving.signal })).runs)
        setProblem(undefined)
      } catch (cause) {
        if (!leaving.signal.aborted) setProblem(cause)
      }
    }
    void look()
    const timer = setInterval(() => void look(), LOOK_MS)
    return () => {
      clearInterval(timer)
      leaving.abort()
    }
  }, [session])
  if (report === undefined)
    return (
      <>
        <h1>Server</h1>
        {problem === undefined ? <Loading what="the server" /> : <Problem cause={problem} />}
      </>
    )
  return (
    <>
      <h1>Server</h1>
      {problem !== undefined && <Problem cause={problem} />}
      <div className="cards">
        <Health report={report} />
        <Load report={report} />
        <Recent runs={recent} />
        {report.upstreams !== undefined && <Upstreams upstreams={report.upstreams} />}
      </div>
      {report.deadLetters > 0 && <DeadLetters key={report.deadLetters} count={report.deadLetters} />}
      <Limits limits={report.limits} />
    </>
  )
}

function Health({ report: { ok, draining, store, version, auth, process } }: { readonly report: ServerReport }) {
  return (
    <section className="card">
      <h2>Health</h2>
      <p className="health" data-ok={ok}>
        <span className="dot" aria-hidden="true" />
        {ok
          ? 'Accepts runs'
          : draining
            ? 'Draining: accepts no more runs'
            : `Cannot accept runs: ${store.reason ?? 'the store is unavailable'}`}
      </p>
      <dl className="facts">
        <Fact name="Store">{store.name}</Fact>
        <Fact name="Authentication">{auth}</Fact>
        <Fact name="Version">{version}</Fact>
        <Fact name="Node">{process.node}</Fact>
        <Fact name="Process">{process.pid}</Fact>
        <Fact name="Up for">{duration(process.uptimeMs)}</Fact>
      </dl>
    </section>
  )
}

function Load({ report: { load, limits, process } }: { readonly report: ServerReport }) {
  const maxRuns = limits['maxConcurrentRuns'] ?? 0
  return (
    <section className="card">
      <h2>Load</h2>
      <label className="meter">
        Runs executing here: {count(load.running)} of {count(maxRuns)}
        <meter min={0} max={maxRuns} high={maxRuns * 0.9} value={load.running} />
      </label>
      <dl className="facts">
        <Fact name="Subscribers">{count(load.subscribers)}</Fact>
        <Fact name="Open streams">{count(load.streams)}</Fact>
        <Fact name="Lag of the slowest subscriber">{count(load.lag)} events</Fact>
        <Fact name="Orphaned runs">
          {count(load.orphaned.count)}
          {load.orphaned.more && ' or more'}
        </Fact>
        <Fact name="Recovered since start">{count(load.recovered)}</Fact>
        <Fact name="Failed since start">{count(load.failed)}</Fact>
        <Fact name="Memory">{bytes(process.rss)}</Fact>
        <Fact name="Heap">{bytes(process.heapUsed)}</Fact>
      </dl>
    </section>
  )
}

function Recent({ runs }: { readonly runs: readonly RunInfo[] }) {
  const numbers = {
    unfinished: runs.filter(({ finishedAt }) => finishedAt === undefined).length,
    completed: runs.filter(({ status }) => status === 'completed').length,
    failed: runs.filter(({ status }) => status === 'failed').length,
    interrupted: runs.filter(({ interruptions = 0 }) => interruptions > 0).length,
    lost: runs.filter(({ error }) => error?.code === 'interrupted').length,
  }
  return (
    <section className="card">
      <h2>The last {count(runs.length)} runs</h2>
      <dl className="facts">
        <Fact name="Unfinished">
          <Link to="/?status=queued,running,paused">{count(numbers.unfinished)}</Link>
        </Fact>
        <Fact name="Completed">
          <Link to="/?status=completed">{count(numbers.completed)}</Link>
        </Fact>
        <Fact name="Failed">
          <Link to="/?status=failed">{count(numbers.failed)}</Link>
        </Fact>
        <Fact name="Recovered after a crash">{count(numbers.interrupted)}</Fact>
        <Fact name="Failed by a crash">{count(numbers.lost)}</Fact>
      </dl>
    </section>
  )
}

function Limits({ limits }: { readonly limits: Readonly<Record<string, number>> }) {
  return (
    <section className="card">
      <h2>Limits</h2>
      <dl className="limits">
        {Object.entries(limits).map(([name, value]) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>{limit(name, value)}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

/** The unit is part of the name. */
function limit(name: string, value: number): string {
  if (name.startsWith('retain') && value === 0) return 'none'
  if (name.endsWith('Ms')) return duration(value)
  return name.includes('Bytes') ? bytes(value) : count(value)
}
