/** A remote agent that speaks A2A as a component: its task is this run's work, wherever it runs. */
import { type Component, type Emission, type RunContext, WorkFailure } from '../../core/agent.ts'
import { type CommonDefinition, commonOf } from '../shared/component.ts'
import { leg } from '../shared/leg.ts'
import { onStop } from '../shared/on-stop.ts'
import { Patience, RemoteError } from '../shared/remote.ts'
import { textOf as inputText } from '../shared/text-input.ts'
import { discover, type Endpoint } from './card.ts'
import { A2aClient, RpcError } from './client.ts'
import { follow } from './follow.ts'
import { type Marks, ShownTask, textOf } from './shown.ts'
import type { Message, Outgoing, State, Update } from './wire.ts'

export interface RemoteA2aDefinition extends CommonDefinition {
  /** Of the agent, whose card is found below it, or of the card itself. */
  readonly url: string
  /** Sent to the origin of `url`, and to no other that a card may name. */
  readonly headers?: Readonly<Record<string, string>>
  /** How often a task is looked at that cannot be streamed. */
  readonly pollMs?: number
  /** Until an answer begins. */
  readonly timeoutMs?: number
  /** A stream that is silent for so long is opened anew. */
  readonly silenceMs?: number
  /** Failures in a row of reaching the agent. */
  readonly retries?: number
  readonly retryDelayMs?: number
}

const defaults = { pollMs: 2000, timeoutMs: 30_000, silenceMs: 90_000, retries: 8, retryDelayMs: 250 }

/** Answers of people in one run. */
const LEGS_MAX = 100

/** A run whose process died goes on with the same remote task: its id is in the log. */
export function remoteA2aAgent(definition: RemoteA2aDefinition): Component {
  return {
    ...commonOf(definition),
    kind: 'agent',
    run: (input, context) => run({ ...defaults, ...definition }, input, context),
  }
}

type Settings = RemoteA2aDefinition & typeof defaults

/** What the remote side made of a message, as the log keeps it. */
type Sent = { readonly task: string; readonly context?: string } | { readonly answer: Message }

/** Where a leg of the task ended. */
interface LegEnd {
  readonly state: State
  readonly note: string
  readonly output: unknown
  readonly marks?: Marks
}

async function* run(settings: Settings, input: unknown, context: RunContext): AsyncGenerator<Emission, unknown, void> {
  const { signal } = context
  const endpoint = await context.step('card', () => patiently(settings, signal, () => found(settings, signal)))
  const headers = new URL(endpoint.url).origin === new URL(settings.url).origin ? (settings.headers ?? {}) : {}
  const client = new A2aClient(endpoint, { ...settings, headers, signal })
  let message: Outgoing = { id: `${context.run}-1`, content: typeof input === 'object' ? input : inputText(input) }
  let marks: Marks | undefined
  for (let turn = 1; turn <= LEGS_MAX; turn++) {
    let opened: AsyncGenerator<Update, void, void> | undefined
    const sent: Sent = await context.step('send', async () => {
      const first = await patiently(settings, signal, () => open(client, message))
      opened = first.updates
      return first.sent
    })
    if ('answer' in sent) {
      yield* new ShownTask(context.run).message(sent.answer)
      return textOf(sent.answer.parts)
    }
    const forget = onStop(context, 'cancel', () => client.cancel(sent.task))
    try {
      const shown = new ShownTask(context.run, marks)
      const end = await leg(context, 'task', () => toEnd(sent.task, opened, shown, { ...settings, client, signal }))
      if (end.state !== 'input-required' && end.state !== 'auth-required') return outcome(end, context)
      marks = end.marks
      const prompt = end.note === '' ? 'The remote agent waits for an answer' : end.note
      const content = await context.ask({ prompt, details: { task: sent.task, state: end.state } })
      message = { id: `${context.run}-${turn + 1}`, ...sent, content }
    } finally {
      forget()
    }
  }
  throw new Error(`the remote agent asked more than ${LEGS_MAX} times`)
}

function found({ url, headers = {}, timeoutMs }: Settings, signal: AbortSignal): Promise<Endpoint> {
  return discover({ url, headers, signal, timeoutMs })
}

/** Sends, and waits for the first update: it tells the task, and the rest is told by its stream. */
async function open(
  client: A2aClient,
  message: Outgoing,
): Promise<{ readonly sent: Sent; readonly updates: AsyncGenerator<Update, void, void> }> {
  const updates = client.send(message)
  try {
    const { done, value: first } = await updates.next()
    if (done === true) throw new RemoteError('the remote agent ended its stream without a word')
    if (first.type === 'message') return { sent: { answer: first.message }, updates }
    const sent: Sent =
      first.type === 'task'
        ? { task: first.task.id, ...(first.task.context !== undefined && { context: first.task.context }) }
        : { task: first.task }
    return { sent, updates: resumed(first, updates) }
  } catch (thrown) {
    if (!(thrown instanceof RpcError)) throw thrown
    const details = { rpcCode: thrown.code }
    throw new WorkFailure({ code: 'agent_failed', message: `the remote agent: ${thrown.message}`, details })
  }
}

async function* resumed(first: Update, rest: AsyncIterable<Update>): AsyncGenerator<Update, void, void> {
  yield first
  yield* rest
}

/** Tries again what certainly had no effect. */
async function patiently<Result>(
  settings: Settings,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  const patience = new Patience(settings, signal)
  for (;;) {
    try {
      return await work()
    } catch (thrown) {
      if (thrown instanceof RemoteError && !thrown.unheard)
        throw new WorkFailure({ code: 'unavailable', message: thrown.message, retryable: true })
      await patience.wait(thrown)
    }
  }
}

async function* toEnd(
  task: string,
  opened: AsyncIterable<Update> | undefined,
  shown: ShownTask,
  options: Parameters<typeof follow>[3],
): AsyncGenerator<Emission, LegEnd, void> {
  yield* follow(task, opened, shown, options)
  const { state, note } = shown
  const waits = state === 'input-required' || state === 'auth-required'
  return { state, note, output: waits ? null : shown.output, ...(waits && { marks: shown.marks }) }
}

/** Only a completed task is a success. */
function outcome({ state, note, output }: LegEnd, context: RunContext): unknown {
  if (state === 'completed') return output
  const message = note === '' ? `the remote task was ${state}` : note
  if (state === 'rejected') return context.reject(message)
  throw new WorkFailure({ code: 'agent_failed', message, details: { state } })
}
