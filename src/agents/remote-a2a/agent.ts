/** Component for a remote agent that speaks A2A: its task is this run's work. */
import { A2aClient, type A2aClientOptions, type OutgoingMessage } from '../../a2a/client.ts'
import { type AgentCard, type BindingName, isWaiting, type Message, textOf, type TaskUpdate } from '../../a2a/types.ts'
import { cardUrl } from '../../a2a/card.ts'
import { partsOf } from '../../a2a/parts.ts'
import {
  type Component,
  type Emission,
  type RunContext,
  type UpstreamInfo,
  WorkError,
} from '../../core/ports/component.ts'
import { aList, anAmount, aString, headersRule, type OptionRules } from '../../core/model/check-options.ts'
import { checkDefinition, type CommonDefinition, commonOf, commonRules } from '../shared/component.ts'
import type { HeaderRecord, HeaderSource } from '../../client/header-source.ts'
import { leg } from '../shared/leg.ts'
import { clipped, isLongText } from '../shared/long-text.ts'
import { onStop } from '../shared/on-stop.ts'
import { isLoggable, recordedUpstream, withReceived } from '../shared/received.ts'
import { textOf as inputText } from '../shared/text-of.ts'
import { UpstreamPool, type UpstreamSlot, withSlot } from '../shared/upstream-pool.ts'
import { asFailure, asRemoteError } from './failure.ts'
import { type Marks, TaskOutput } from './task-output.ts'
import type { TaskStatus } from '../../a2a/types.ts'

/** Options of `remoteA2aAgent`. */
export interface RemoteA2aAgentDefinition extends CommonDefinition {
  /** URL of the agent, whose card is found below it, or of the card itself. */
  readonly url: string
  /** Sent only to the origin of `url`, not to other origins in the card. */
  readonly headers?: HeaderSource
  /** Bindings that may be chosen from the card. Default: all; gRPC only if nothing else is offered. */
  readonly bindings?: readonly BindingName[]
  /** Poll interval for a task that cannot be streamed. Default: 2,000. */
  readonly pollIntervalMs?: number
  /** Timeout until a response starts. Default: 30,000. */
  readonly requestTimeoutMs?: number
  /** Reconnects a stream that is silent for this long. Default: 90,000. */
  readonly idleTimeoutMs?: number
  /** Consecutive connection failures before the run fails. Default: 5, which is within 8 seconds. */
  readonly retries?: number
  /** Delay before the first retry; doubles each time. Default: 250. */
  readonly retryDelayMs?: number
}

const defaults = {
  pollIntervalMs: 2000,
  requestTimeoutMs: 30_000,
  idleTimeoutMs: 90_000,
  retries: 5,
  retryDelayMs: 250,
}

/** Maximum number of times that a message is sent again because the agent lost its task. */
const RESENDS_MAX = 3

function lostTask(task: string): WorkError {
  const message = `the remote agent lost the queued task ${task}, and ${RESENDS_MAX} more that it was sent instead`
  return new WorkError({ code: 'upstream_lost_run', message })
}

/** Maximum answered questions in one run. */
const LEGS_MAX = 100

const RULES: OptionRules<RemoteA2aAgentDefinition> = {
  ...commonRules,
  url: aString,
  headers: headersRule,
  bindings: aList,
  pollIntervalMs: anAmount,
  requestTimeoutMs: anAmount,
  idleTimeoutMs: anAmount,
  retries: anAmount,
  retryDelayMs: anAmount,
}

/** After a crash, the run continues with the same remote task: its id is in the log. */
export function remoteA2aAgent(definition: RemoteA2aAgentDefinition): Component {
  checkDefinition('remoteA2aAgent', definition, RULES, ['url'])
  return a2aComponent(definition, new UpstreamPool({ urls: [definition.url] }))
}

interface UpstreamSettings {
  /** Path of the card below the URL of each replica. Default: at the URL. */
  readonly cardPath?: string
  /** Headers of requests for a run, instead of those of the definition. */
  readonly headersFor?: (context: RunContext) => Promise<HeaderRecord>
}

export function a2aComponent(
  definition: RemoteA2aAgentDefinition,
  pool: UpstreamPool,
  more: UpstreamSettings = {},
): Component {
  const settings: Settings = { ...defaults, ...definition, ...more, pool }
  return {
    ...commonOf(definition),
    kind: 'agent',
    run: (input, context) => withSlot(pool, context.signal, (slot) => run(settings, input, context, slot)),
  }
}

type Settings = RemoteA2aAgentDefinition & typeof defaults & UpstreamSettings & { readonly pool: UpstreamPool }

/** The remote side's reply to a message, as recorded in the log. `isLong`: a reply that is too long to be recorded here. */
type SentMessage =
  | { readonly task: string; readonly context?: string }
  | { readonly answer: Message }
  | { readonly isLong: true }

/** Where the work on a message ended. */
interface LegEnd {
  /** The agent lost the task before it began to work on it. */
  readonly lost?: true
  readonly status: TaskStatus
  readonly note: string
  /** Absent for a long text, which is in the log already. */
  readonly output?: unknown
  readonly marks?: Marks
}

async function* run(
  settings: Settings,
  input: unknown,
  context: RunContext,
  slot: UpstreamSlot,
): AsyncGenerator<Emission, unknown, void> {
  const { signal } = context
  const card = await context.step('card', async () => {
    await slot.acquire()
    return fetchCard(settings, context)
  })
  const client = await A2aClient.of(card, cardUrl(settings.url), optionsOf(settings, context))
  // The upstream keeps its state by context, so the run's session is its context.
  const about = settings.upstream === undefined ? {} : { context: context.sessionId, ...sentMessage(context) }
  const logged = recordedUpstream(settings.upstream, context)
  let message = messageOf(`${context.runId}-1`, typeof input === 'object' ? input : inputText(input), about)
  let before: LegEnd | undefined
  let resent = 0
  try {
    for (let turn = 1; turn <= LEGS_MAX; turn++) {
      const answered = before?.status
      const following = { signal, endsAtAuth: true, ...(answered !== undefined && { answered }) }
      let opened: AsyncIterable<TaskUpdate> | undefined
      let long: Message | undefined
      const sent: SentMessage = await context.step('send', async () => {
        await slot.acquire()
        const first = await open(client.stream(message, following)[Symbol.asyncIterator](), logged)
        opened = first.updates
        if ('answer' in first.sent && isLongText(textOf(first.sent.answer.parts))) {
          long = first.sent.answer
          return { isLong: true }
        }
        return first.sent
      })
      if ('isLong' in sent) {
        const sendAgain = (): Promise<OpenedStream> =>
          open(client.stream(message, following)[Symbol.asyncIterator](), logged)
        await context.stage('answer', () => answerInPieces(long, sendAgain, new TaskOutput(context.runId)))
        return undefined
      }
      if ('answer' in sent) {
        const { answer } = sent
        yield* withReceived(logged, 'message', answer, new TaskOutput(context.runId).message(answer))
        return textOf(sent.answer.parts)
      }
      const forget = onStop(context, 'cancel', async () => void (await client.cancel(sent.task)))
      try {
        const taskOutput = new TaskOutput(context.runId, before?.marks, opened === undefined)
        const end = await leg(context, 'task', async function* () {
          await slot.acquire()
          const updates = opened ?? client.subscribe(sent.task, following)
          return yield* followToEnd(updates, taskOutput, opened !== undefined, logged)
        })
        slot.release()
        if (end.lost === true) {
          if (++resent > RESENDS_MAX) throw lostTask(sent.task)
          continue
        }
        if (!isWaiting(end.status.state)) return outcome(end, context)
        const prompt = end.note === '' ? 'The remote agent waits for an answer' : end.note
        const state = stateName(end.status)
        const details = { task: sent.task, state, ...(state === 'auth-required' && { a2a: { state } }) }
        message = messageOf(`${context.runId}-${turn + 1}`, await context.ask({ prompt, details }), sent)
        before = end
      } finally {
        forget()
      }
    }
  } finally {
    client.close()
  }
  throw new Error(`the remote agent asked more than ${LEGS_MAX} questions in one run`)
}

function optionsOf(settings: Settings, context: RunContext): A2aClientOptions {
  const { pool, headersFor, bindings, pollIntervalMs, requestTimeoutMs, idleTimeoutMs, retries, retryDelayMs } =
    settings
  const headers = headersFor === undefined ? settings.headers : () => headersFor(context)
  return {
    pollIntervalMs,
    requestTimeoutMs,
    idleTimeoutMs,
    retries,
    retryDelayMs,
    origins: pool.replicas.map(({ url }) => url),
    ...(headers !== undefined && { headers }),
    ...(bindings !== undefined && { bindings }),
  }
}

/** The part of the card that the run depends on, recorded in the log. It also says which replica the run uses. */
function fetchCard(settings: Settings, context: RunContext): Promise<AgentCard> {
  const { pool, cardPath = '' } = settings
  const { signal, sessionId } = context
  return pool.send(pool.preferred(sessionId), settings, signal, async (replica) => {
    try {
      const options = { ...optionsOf(settings, context), retries: 0, signal }
      const { card, interface: scripted } = await A2aClient.connect(replica.url + cardPath, options)
      const { url, binding: protocolBinding, version: protocolVersion, ...tenant } = scripted
      return {
        supportedInterfaces: [{ url, protocolBinding, protocolVersion, ...tenant }],
        ...(card.capabilities !== undefined && { capabilities: card.capabilities }),
      }
    } catch (thrown) {
      throw asRemoteError(thrown)
    }
  })
}

interface MessageContext {
  readonly task?: string
  readonly context?: string
  /** The message that an A2A client sent. */
  readonly message?: Partial<Message>
}

/** A text, a text with files, or any other JSON value. */
function messageOf(messageId: string, content: unknown, about: MessageContext = {}): OutgoingMessage {
  const { parts = partsOf(content), metadata, extensions } = about.message ?? {}
  return {
    messageId,
    parts,
    ...(metadata !== undefined && { metadata }),
    ...(extensions !== undefined && { extensions }),
    ...(about.task !== undefined && { taskId: about.task }),
    ...(about.context !== undefined && { contextId: about.context }),
  }
}

/** The message of an A2A client, with all of its parts. */
function sentMessage({ metadata }: RunContext): Pick<MessageContext, 'message'> {
  const { message } = (metadata['a2a'] ?? {}) as { readonly message?: Partial<Message> }
  return Array.isArray(message?.parts) ? { message } : {}
}

interface OpenedStream {
  readonly sent: Exclude<SentMessage, { isLong: true }>
  readonly updates: AsyncIterable<TaskUpdate>
}

/** Waits for the first update, which has the task's id; the stream delivers the rest. */
async function open(
  updates: AsyncGenerator<TaskUpdate, void, void>,
  logged: UpstreamInfo | undefined,
): Promise<OpenedStream> {
  try {
    const { done, value: first } = await updates.next()
    if (done === true) throw new Error('the remote agent closed the stream without sending an update')
    if ('message' in first) {
      const isWhole = logged !== undefined && isLoggable(first.message)
      return { sent: { answer: isWhole ? first.message : textsOf(first.message) }, updates }
    }
    const { id, contextId } = 'task' in first ? first.task : aboutOf(first)
    return {
      sent: { task: id, ...(contextId !== undefined && { context: contextId }) },
      updates: withFirst(first, updates),
    }
  } catch (thrown) {
    throw asFailure(thrown)
  }
}

/** Only text parts of a reply are emitted, so only these are recorded if no view shows the others. */
function textsOf({ messageId, role, parts }: Message): Message {
  return { messageId, role, parts: parts.filter(({ text }) => text !== undefined) }
}

/**
 * A reply that no single event can hold. It has no task from which it could be read again: after a crash, the message is sent again
 * under the same id, as if the reply had not arrived.
 */
async function* answerInPieces(
  received: Message | undefined,
  sendAgain: () => Promise<OpenedStream>,
  taskOutput: TaskOutput,
): AsyncGenerator<Emission, void, void> {
  if (received !== undefined) return yield* taskOutput.message(received)
  const { sent } = await sendAgain()
  if (!('answer' in sent)) {
    const message =
      'the remote agent replied with a message, but with a task when the message was sent again after a crash'
    throw new WorkError({ code: 'agent_failed', message })
  }
  yield* taskOutput.message(sent.answer)
}

function aboutOf(update: Exclude<TaskUpdate, { task: unknown } | { message: unknown }>): {
  id: string
  contextId?: string
} {
  const { taskId: id, contextId } = 'statusUpdate' in update ? update.statusUpdate : update.artifactUpdate
  return { id, ...(contextId !== undefined && { contextId }) }
}

async function* withFirst(first: TaskUpdate, rest: AsyncIterable<TaskUpdate>): AsyncGenerator<TaskUpdate, void, void> {
  yield first
  yield* rest
}

async function* followToEnd(
  updates: AsyncIterable<TaskUpdate>,
  taskOutput: TaskOutput,
  isFirst: boolean,
  logged: UpstreamInfo | undefined,
): AsyncGenerator<Emission, LegEnd, void> {
  try {
    for await (const update of updates) {
      const [[name, value] = ['', undefined]] = Object.entries(update)
      yield* withReceived(logged, name, value, taskOutput.add(update), { isSnapshot: 'task' in update })
    }
    yield* taskOutput.end()
  } catch (thrown) {
    const failure = asFailure(thrown)
    const isLost = failure instanceof WorkError && failure.code === 'upstream_lost_run'
    // A queued task has not started, so resending it repeats nothing. An earlier attempt may have seen it start.
    if (isLost && isFirst && taskOutput.isUntouched) return { lost: true, status: taskOutput.status, note: '' }
    throw failure
  }
  const { marks, output } = taskOutput
  const end = { status: withoutText(taskOutput.status), note: clipped(taskOutput.note) }
  if (isWaiting(taskOutput.status.state)) return { ...end, marks }
  return { ...end, ...(output !== undefined && { output }) }
}

/** Its text is recorded as the note. */
function withoutText({ state, message, timestamp }: TaskStatus): TaskStatus {
  return {
    state,
    ...(message !== undefined && { message: { messageId: message.messageId, role: message.role, parts: [] } }),
    ...(timestamp !== undefined && { timestamp }),
  }
}

/** Only a completed task is a success. */
function outcome({ status, note, output }: LegEnd, context: RunContext): unknown {
  const state = stateName(status)
  if (state === 'completed') return output
  const message = note === '' ? `the remote task was ${state}` : note
  if (state === 'rejected') return context.reject(message)
  throw new WorkError({ code: 'agent_failed', message, details: { state } })
}

/** `input-required` for `TASK_STATE_INPUT_REQUIRED`. */
function stateName({ state }: TaskStatus): string {
  return state
    .replace(/^TASK_STATE_/, '')
    .replaceAll('_', '-')
    .toLowerCase()
}
