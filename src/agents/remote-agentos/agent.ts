/** Component for an agent, team or workflow of a remote AgentOS: its run there is this run's work. */
import { createHash } from 'node:crypto'
import {
  type Component,
  createEvent,
  type Emission,
  type RunContext,
  type UpstreamInfo,
  WorkError,
} from '../../core/ports/component.ts'
import {
  aBoolean,
  aFunction,
  anAmount,
  headersRule,
  aString,
  oneOf,
  type OptionRules,
} from '../../core/model/check-options.ts'
import { checkDefinition, type CommonDefinition, commonOf, commonRules } from '../shared/component.ts'
import type { HeaderRecord, HeaderSource } from '../../client/header-source.ts'
import { INTERNAL, leg } from '../shared/leg.ts'
import { onStop } from '../shared/on-stop.ts'
import { recordedUpstream, withReceived } from '../shared/received.ts'
import { RetryBudget, RemoteError } from '../shared/remote.ts'
import { type Replica, UpstreamPool, type UpstreamSlot, withSlot } from '../shared/upstream-pool.ts'
import { AgentOsClient, type RemoteAgentOsKind, type RunIds } from './client.ts'
import { answersTo } from './answers-to.ts'
import { forwardedFields, remoteInput } from './forwarded.ts'
import { RemoteRunOutput } from './run-output.ts'
import { endOf, type RemoteEvent } from './wire.ts'

/** Options of `remoteAgentOs`. */
export interface RemoteAgentOsDefinition extends CommonDefinition {
  /** Base URL of the AgentOS. */
  readonly url: string
  /** Its id there. Default: the component's own id. */
  readonly component?: string
  readonly kind?: RemoteAgentOsKind
  readonly headers?: HeaderSource
  /**
   * Let the remote run continue when the connection breaks. Needs a database there; without it, a broken connection fails the
   * run. Default: true.
   */
  readonly background?: boolean
  /** The user id of the remote run. Default: the `user_id` that an AgentOS client sent. */
  readonly user?: (context: RunContext) => string
  /** Timeout until a response starts. Default: 30,000. */
  readonly requestTimeoutMs?: number
  /** Reconnects a stream that is silent for this long. Default: 120,000. */
  readonly idleTimeoutMs?: number
  /** Consecutive connection failures before the run fails. Default: 5, which is within 8 seconds. */
  readonly retries?: number
  /** Delay before the first retry; doubles each time. Default: 250. */
  readonly retryDelayMs?: number
}

const defaults = { background: true, requestTimeoutMs: 30_000, idleTimeoutMs: 120_000, retries: 5, retryDelayMs: 250 }

type Settings = RemoteAgentOsDefinition &
  typeof defaults & {
    readonly kind: RemoteAgentOsKind
    readonly pool: UpstreamPool
    readonly headersFor: ((context: RunContext) => Promise<HeaderRecord>) | undefined
  }

/** Maximum answered questions in one run. */
const LEGS_MAX = 100

const RULES: OptionRules<RemoteAgentOsDefinition> = {
  ...commonRules,
  url: aString,
  component: aString,
  kind: oneOf('agent', 'team', 'workflow'),
  headers: headersRule,
  background: aBoolean,
  user: aFunction,
  requestTimeoutMs: anAmount,
  idleTimeoutMs: anAmount,
  retries: anAmount,
  retryDelayMs: anAmount,
}

/** After a crash, the run continues with the same remote run: its id is in the log before it is started. */
export function remoteAgentOs(definition: RemoteAgentOsDefinition): Component {
  checkDefinition('remoteAgentOs', definition, RULES, ['url'])
  return agentOsComponent(definition, new UpstreamPool({ urls: [definition.url] }))
}

/** `headersFor`: headers of requests for a run, instead of those of the definition. */
export function agentOsComponent(
  definition: RemoteAgentOsDefinition,
  pool: UpstreamPool,
  headersFor?: Settings['headersFor'],
): Component {
  const settings: Settings = { ...defaults, kind: 'agent', ...definition, pool, headersFor }
  return {
    ...commonOf(definition),
    kind: settings.kind,
    run: (input, context) => withSlot(pool, context.signal, (slot) => run(settings, input, context, slot)),
  }
}

/** Where the remote run ended or paused, as recorded in the log. */
interface LegEnd {
  readonly end: RemoteEvent
  /** Index of the last event. */
  readonly index?: number
}

async function* run(
  settings: Settings,
  input: unknown,
  context: RunContext,
  slot: UpstreamSlot,
): AsyncGenerator<Emission, void, void> {
  const { signal, sessionId } = context
  const { kind, background, user, pool } = settings
  const chosen = { run: remoteRunId(context), session: sessionId }
  const common = { ...forwardedFields(context, user?.(context)), background: String(background) }
  let send = (client: AgentOsClient): RemoteEvents => client.start(chosen, remoteInput(input), common)
  let ids: RunIds = chosen
  let after: number | undefined
  let replica: Replica | undefined
  for (let legNumber = 1; legNumber <= LEGS_MAX; legNumber++) {
    let opened: RemoteEvents | undefined
    const sending = send
    const sent: SentRequest = await context.step(
      'send',
      async () => {
        await slot.acquire()
        const receiver =
          context.attempt > 1 ? await receiverOf(settings, replica, context, ids, legNumber === 1) : undefined
        if (receiver !== undefined) return sentTo(pool, receiver, ids.run)
        const first = await open(settings, replica, context, sending)
        opened = first.events
        return sentTo(pool, first.replica, first.run ?? ids.run)
      },
      { details: INTERNAL },
    )
    replica = pool.replicaOf(sent.replica)
    const client = clientOf(settings, replica, context)
    ids = { ...chosen, run: sent.run }
    const current = ids
    const forget = onStop(context, 'cancel', () => client.cancel(current))
    try {
      const runOutput = new RemoteRunOutput(`${context.runId}/${legNumber}`, ids.run, kind)
      const position = { ids, after, opened }
      const kept = recordedUpstream(settings.upstream, context)
      const { end, index }: LegEnd = await leg(
        context,
        'remote',
        async function* () {
          await slot.acquire()
          return yield* follow(client, runOutput, position, { ...settings, kept }, signal)
        },
        { kind: 'agent', details: INTERNAL },
      )
      if (end.event !== 'RunPaused') return yield createEvent('run.completed', outcome(end))
      after = index
      slot.release()
      const answers = await answersTo(end, kind, context)
      send = (other) => other.continue(current, { ...common, ...answers })
    } finally {
      forget()
    }
  }
  throw new Error(`the remote run paused more than ${LEGS_MAX} times in one run`)
}

/**
 * The same in every attempt, and recognizable on both sides. An actor's id contains slashes, which not every server accepts in a
 * path.
 */
function remoteRunId({ runId: id }: RunContext): string {
  return id.includes('/') ? `run_${createHash('sha256').update(id).digest('hex').slice(0, 32)}` : id
}

/** A request that started or continued the run, as recorded in the log. */
interface SentRequest {
  readonly run: string
  /** Which replica has the run, if there are several. */
  readonly replica?: string
}

function sentTo({ replicas }: UpstreamPool, { id: replica }: Replica, id: string): SentRequest {
  return replicas.length === 1 ? { run: id } : { run: id, replica }
}

function clientOf(settings: Settings, { url }: Replica, context: RunContext): AgentOsClient {
  const { id, component = id, headersFor } = settings
  const { signal } = context
  const headers = headersFor === undefined ? (settings.headers ?? {}) : () => headersFor(context)
  return new AgentOsClient({ ...settings, url, component, headers, signal })
}

/** The replica on which an unrecorded request of an earlier attempt took effect. */
async function receiverOf(
  settings: Settings,
  known: Replica | undefined,
  context: RunContext,
  ids: RunIds,
  isStart: boolean,
): Promise<Replica | undefined> {
  let unknown: RemoteError | undefined
  for (const replica of known === undefined ? settings.pool.preferred(context.sessionId) : [known]) {
    try {
      const stored = await clientOf(settings, replica, context).get(ids)
      if (stored !== undefined && (isStart || stored.status !== 'PAUSED')) return replica
    } catch (thrown) {
      if (!(thrown instanceof RemoteError)) throw thrown
      unknown = thrown
    }
  }
  // The request may have reached the replica that does not respond.
  if (unknown !== undefined) throw unknown
  return undefined
}

type RemoteEvents = AsyncGenerator<RemoteEvent, void, void>

interface OpenedRun {
  readonly run: string | undefined
  readonly events: RemoteEvents
  readonly replica: Replica
}

/** Waits for the first event, which has the run's actual id. A paused run is continued by the replica that has it. */
function open(
  settings: Settings,
  known: Replica | undefined,
  context: RunContext,
  send: (client: AgentOsClient) => RemoteEvents,
): Promise<OpenedRun> {
  const attempt = async (replica: Replica): Promise<OpenedRun> => {
    const events = send(clientOf(settings, replica, context))
    const { done, value: first } = await events.next()
    if (done === true) throw new RemoteError('the remote server closed its stream without sending an event')
    return { run: first.run_id, events: withFirst(first, events), replica }
  }
  const order = known === undefined ? settings.pool.preferred(context.sessionId) : [known]
  return settings.pool.send(order, settings, context.signal, attempt)
}

async function* withFirst<Item>(first: Item, rest: AsyncIterable<Item>): AsyncGenerator<Item, void, void> {
  yield first
  yield* rest
}

interface ReplayPosition {
  readonly ids: RunIds
  /** Index of the last event before the question. */
  readonly after: number | undefined
  readonly opened: RemoteEvents | undefined
}

/** A stream that ends before the run ended or paused was interrupted, even if it closed cleanly. */
async function* follow(
  client: AgentOsClient,
  runOutput: RemoteRunOutput,
  { ids, after, opened }: ReplayPosition,
  settings: Settings & { readonly kept: UpstreamInfo | undefined },
  signal: AbortSignal,
): AsyncGenerator<Emission, LegEnd, void> {
  const retries = new RetryBudget(settings, signal)
  let last = after
  let emptyStreams = 0
  let silences = 0
  for (let events = opened; ; events = undefined) {
    try {
      for await (const event of events ?? reattach(client, ids, last)) {
        const { event_index: index } = event
        if (index !== undefined && last !== undefined && index <= last) continue
        if (index !== undefined) last = index
        retries.reset()
        emptyStreams = 0
        silences = 0
        yield* withReceived(settings.kept, event.event, event, runOutput.add(event))
        if (runOutput.end !== undefined) return { end: runOutput.end, ...(last !== undefined && { index: last }) }
      }
      if (events === undefined && ++emptyStreams >= EMPTY_STREAMS_MAX) throw stalled()
      throw new RemoteError('the stream ended before the run did')
    } catch (thrown) {
      // A run in the foreground cannot be re-attached.
      if (!settings.background && thrown instanceof RemoteError) throw new WorkError(thrown.failure)
      // A resumed stream that is silent too: the run hangs.
      if (isIdle(thrown) && ++silences > 1) throw new WorkError(thrown.failure)
      await retries.wait(thrown)
    }
  }
}

function isIdle(thrown: unknown): thrown is RemoteError {
  return thrown instanceof RemoteError && thrown.code === 'upstream_idle'
}

/** Maximum resumed streams that ended without an event while the run still counts as running there. */
const EMPTY_STREAMS_MAX = 3

function stalled(): WorkError {
  const message = 'the remote run counts as running, but the server sends none of its events and does not end it'
  return new WorkError({ code: 'upstream_stalled', message })
}

/** Missed events, then live ones; then, if the stream lacks the end, the server's stored result. */
async function* reattach(
  client: AgentOsClient,
  ids: RunIds,
  after: number | undefined,
): AsyncGenerator<RemoteEvent, void, void> {
  for await (const event of client.resume(ids, after)) if (/^[A-Z]/.test(event.event)) yield event
  const stored = await client.get(ids)
  if (stored === undefined)
    throw new WorkError({ code: 'upstream_lost_run', message: 'the remote server no longer knows the run' })
  const end = endOf(stored)
  if (end !== undefined) yield end
}

/** A cancelled run reports cancelled and then completed: the first one counts. */
function outcome({ event, content, error_type: type, reason }: RemoteEvent): { output?: unknown } {
  if (event === 'RunCompleted') return content === undefined ? {} : { output: content }
  const stated = typeof content === 'string' && content !== '' ? content : reason
  if (event === 'RunCancelled')
    throw new WorkError({ code: 'agent_failed', message: stated ?? 'the remote run was cancelled' })
  const message = stated ?? 'the remote run failed'
  throw new WorkError({ code: 'agent_failed', message, ...(type !== undefined && { details: { type } }) })
}
