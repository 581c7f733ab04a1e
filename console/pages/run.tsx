/** Run page: conversation, log, timeline, protocol frames and token usage. */
import type { RunInfo, ShareAction } from 'holdfast/client'
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { count, duration, moment, shortId, shortSession } from '../format.ts'
import { CopyButton, Fact, Loading, Problem, Status, Tabs, useNow } from '../parts.tsx'
import { Link, navigate, useLocation, withQuery } from '../router.tsx'
import { Composer } from '../run/composer.tsx'
import { Conversation } from '../run/conversation.tsx'
import { LogPanel } from '../run/log-panel.tsx'
import { Questions } from '../run/questions.tsx'
import { ReplayBar } from '../run/replay-bar.tsx'
import { RunWatch, type ShownRun } from '../run/run-watch.ts'
import { Timeline } from '../run/timeline.tsx'
import { UsagePanel } from '../run/usage-panel.tsx'
import { WirePanel } from '../run/wire-panel.tsx'
import { useSession } from '../session.ts'

const PANELS = { talk: 'Conversation', log: 'Log', timeline: 'Timeline', wire: 'Wire', usage: 'Usage' } as const
type Panel = keyof typeof PANELS

/** Panels for a share link, which gives access to the log only. */
const { wire: _wire, ...SHARED_PANELS } = PANELS

/** Whether an action is available: always, except on a share link that does not allow it. */
function useMay(info: RunInfo | undefined): (action: ShareAction) => boolean {
  const { isShared } = useSession()
  return (action) => !isShared || info?.shared?.can.includes(action) === true
}

export function RunPage({ id }: { readonly id: string }) {
  const { client, isShared } = useSession()
  const watch = useMemo(() => new RunWatch(client, id), [client, id])
  const shown = useSyncExternalStore(watch.subscribe, watch.state)
  const info = useInfo(id, shown.status)
  if (shown.problem !== undefined && shown.count === 0)
    return (
      <>
        <h1>Run</h1>
        <Problem cause={shown.problem}>{!isShared && <Link to="/">Show all runs</Link>}</Problem>
      </>
    )
  if (shown.count === 0) return <Loading what="the run" />
  return (
    <div className="run-page">
      <RunHead id={id} info={info} shown={shown} watch={watch} />
      {shown.problem !== undefined && <Problem cause={shown.problem} />}
      <RunBody id={id} info={info} shown={shown} />
    </div>
  )
}

/** Details that are not in the log: session and protocol. Requested when the status changes. */
function useInfo(id: string, status: string): RunInfo | undefined {
  const { client } = useSession()
  const [info, setInfo] = useState<RunInfo>()
  useEffect(() => {
    const leaving = new AbortController()
    client.runs.get(id, { signal: leaving.signal }).then(setInfo, () => {}) // the log reports what is wrong
    return () => leaving.abort()
  }, [client, id, status])
  return info
}

interface HeadProps {
  readonly id: string
  readonly info: RunInfo | undefined
  readonly shown: ShownRun
  readonly watch: RunWatch
}

function RunHead({ id, info, shown, watch }: HeadProps) {
  const { client, isShared } = useSession()
  const may = useMay(info)
  const { status, events, upTo, ended, fold } = shown
  const [replaying, setReplaying] = useState(false)
  const [stopping, setStopping] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const now = useNow(1000, !ended)
  const created = events[0]?.type === 'run.created' ? events[0] : undefined
  const component = info?.component ?? created?.data.component ?? '…'
  const session = info?.session ?? created?.data.session
  const last = Date.parse(events[Math.max(0, upTo - 1)]!.time)
  const took = (ended || shown.replaying ? last : Math.max(now, last)) - Date.parse(events[0]!.time)
  const stop = async (): Promise<void> => {
    setStopping(true)
    try {
      await client.runs.stop(id, { reason: 'stopped from the console' })
    } catch (cause) {
      setProblem(cause)
    }
    setStopping(false)
  }
  return (
    <header className="run-head">
      <div className="run-title">
        <h1>{component}</h1>
        <span aria-live="polite">
          <Status status={status} />
        </span>
        <span className="run-id">
          <code title={id}>{shortId(id)}</code>
          <CopyButton text={id}>Copy id</CopyButton>
        </span>
        <span className="run-actions">
          {!ended && !shown.replaying && may('stop') && (
            <button type="button" className="danger" disabled={stopping} onClick={() => void stop()}>
              {stopping ? 'Stopping…' : 'Stop'}
            </button>
          )}
          {!replaying && (
            <button type="button" onClick={() => setReplaying(true)}>
              Replay
            </button>
          )}
          {!isShared && (
            <Link to={`/break?run=${encodeURIComponent(id)}`} className="button">
              Break it
            </Link>
          )}
        </span>
      </div>
      <dl className="facts">
        {info?.version !== undefined && <Fact name="Version">{info.version}</Fact>}
        {session !== undefined && !isShared && (
          <Fact name="Session">
            <Link to={`/?session=${encodeURIComponent(session)}`} title={session}>
              {shortSession(session)}
            </Link>
          </Fact>
        )}
        <Fact name="Created">
          <time dateTime={events[0]!.time}>{moment(events[0]!.time)}</time>
        </Fact>
        <Fact name="Duration">{duration(took)}</Fact>
        <Fact name="Events">{count(upTo + (events[0]?.index ?? 0))}</Fact>
        <Fact name="Tokens">{fold.structure.usage.total === undefined ? '–' : count(fold.structure.usage.total)}</Fact>
        <Fact name="Attempts">{info?.attempt ?? 1}</Fact>
        <Fact name="Started by">{info?.protocol ?? created?.data.protocol ?? '–'}</Fact>
      </dl>
      {problem !== undefined && <Problem cause={problem} />}
      {replaying && <ReplayBar watch={watch} shown={shown} onClose={() => setReplaying(false)} />}
    </header>
  )
}

interface BodyProps {
  readonly id: string
  readonly info: RunInfo | undefined
  readonly shown: ShownRun
}

function RunBody({ id, info, shown }: BodyProps) {
  const { client, isShared } = useSession()
  const may = useMay(info)
  const location = useLocation()
  const panel = panelOf(location.query.get('panel'))
  const event = location.query.get('event')
  const chosen = event === null || !/^\d{1,9}$/.test(event) ? undefined : Number(event)
  const now = useNow(1000, !shown.ended)
  const choose = (index: number | undefined, where: Panel = panel === 'talk' ? 'log' : panel): void =>
    navigate(withQuery(location, { event: index === undefined ? undefined : String(index), panel: where }), {
      replace: true,
    })
  const side = panel === 'talk' ? 'log' : panel
  return (
    <div className="run-body" data-panel={panel}>
      <Tabs
        label="Views of the run"
        tabs={isShared ? SHARED_PANELS : PANELS}
        current={panel}
        onChange={(name) => navigate(withQuery(location, { panel: name }), { replace: true })}
      />
      <section className="talk" aria-label="Conversation" id="panel-talk">
        <Conversation
          blocks={shown.blocks}
          actors={shown.fold.structure.actors}
          component={info?.component ?? 'agent'}
          open={shown.replaying || !may('answer') ? [] : shown.questions}
          live={!shown.ended}
          form={(questions) => (
            <Questions
              key={questions.map((question) => question.id).join()}
              questions={questions}
              onAnswer={async (answers) => void (await client.runs.answer(id, { answers }))}
            />
          )}
        />
        {shown.ended && !shown.replaying && !isShared && info !== undefined && (
          <Composer component={info.component} session={info.session} />
        )}
      </section>
      <section className="side" id={`panel-${side}`} role="tabpanel" aria-labelledby={`tab-${side}`}>
        {side === 'log' && <LogPanel shown={shown} chosen={chosen} onChoose={choose} />}
        {side === 'timeline' && (
          <Timeline shown={shown} now={now} chosen={chosen} onChoose={(index) => choose(index, 'timeline')} />
        )}
        {side === 'wire' && !isShared && <WirePanel run={id} ended={shown.ended} />}
        {side === 'usage' && <UsagePanel usage={shown.fold.structure.usage} />}
      </section>
    </div>
  )
}

function panelOf(name: string | null): Panel {
  return name !== null && name in PANELS ? (name as Panel) : 'talk'
}
