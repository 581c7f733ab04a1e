/** What an agent can do besides yielding: steps, tools and questions, each with its ledger entry in the log. */
import {
  type AskOptions,
  RecordedFailure,
  RejectedError,
  type RunContext,
  type ToolAttempt,
  type ToolCall,
} from './agent.ts'
import { messageOf } from './errors.ts'
import type { Failure, Question } from './event.ts'
import { askKey, type Ledger, type LedgerEntry, stepKey, toolKey } from './history.ts'

/** What the context needs of the drive it belongs to. */
export interface ContextHost {
  readonly signal: AbortSignal
  isReplaying(): boolean
  readonly ledger: Ledger
  readonly uncertain: 'pause' | 'fail'
  /** Appends an event and resolves when it is durable. */
  record(
    type: 'step.started' | 'step.completed' | 'step.failed' | 'tool.called' | 'tool.completed' | 'tool.failed',
    data: object,
  ): Promise<void>
  /** Pauses the run until the question is answered. */
  wait(question: Question): Promise<unknown>
  /** Ends the run as failed; never returns to the agent. */
  fail(failure: Failure): Promise<never>
  now(): number
}

export interface ContextFacts extends Pick<RunContext, 'run' | 'session' | 'owner' | 'metadata' | 'attempt'> {}

export function createContext(facts: ContextFacts, host: ContextHost): RunContext {
  const count = counter()
  return {
    ...facts,
    get signal() {
      return host.signal
    },
    get replaying() {
      return host.isReplaying()
    },
    step: (name, work) => step(host, count(stepKey(checkName(name))), name, work),
    tool: (call, work) => tool(host, facts.run, count(toolKey(checkName(call.name))), call, work),
    ask: (question) =>
      ask(host, count(askKey('question')), typeof question === 'string' ? { prompt: question } : question),
    sleep: (milliseconds) => (host.isReplaying() ? Promise.resolve() : sleep(milliseconds, host.signal)),
    reject(reason) {
      throw new RejectedError(reason)
    },
  }
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const abort = (): void => reject(signal.reason as Error)
  if (signal.aborted) abort()
  const timer = setTimeout(resolve, milliseconds)
  signal.addEventListener('abort', abort, { once: true })
  return promise.finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  })
}

/** The n-th work of a name has the same key in every attempt; the first has the bare name. */
function counter(): (key: string) => string {
  const counts = new Map<string, number>()
  return (key) => {
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    const name = key.slice(key.indexOf(':') + 1)
    return count === 1 ? name : `${name}#${count}`
  }
}

const NAME_CHARS_MAX = 256

function checkName(name: unknown): string {
  if (typeof name !== 'string' || name === '' || name.length > NAME_CHARS_MAX) {
    throw new TypeError(`a step or tool needs a name of 1 to ${NAME_CHARS_MAX} characters`)
  }
  return name
}

async function step<Result>(
  host: ContextHost,
  key: string,
  name: string,
  work: (signal: AbortSignal) => Promise<Result> | Result,
): Promise<Result> {
  const known = host.ledger.get(stepKey(key))
  if (known !== undefined && known.state !== 'begun') return recorded(known) as Result
  if (known === undefined) await host.record('step.started', { step: key, name, kind: 'function', key })
  let result: Result
  try {
    result = await work(host.signal)
  } catch (thrown) {
    if (host.signal.aborted) throw thrown
    await host.record('step.failed', { step: key, name, error: failureOf(thrown), key })
    throw thrown
  }
  await host.record('step.completed', { step: key, name, output: result, key })
  return result
}

async function tool<Result>(
  host: ContextHost,
  run: string,
  key: string,
  call: ToolCall,
  work: (call: ToolAttempt) => Promise<Result> | Result,
): Promise<Result> {
  const { name, input } = call
  const known = host.ledger.get(toolKey(key))
  if (known !== undefined && known.state !== 'begun') return recorded(known) as Result
  const id = `${run}/${key}`
  if (known === undefined) {
    await host.record('tool.called', { call: id, name, input: input ?? null, key })
  } else if (call.idempotent !== true) {
    const decision = await decide(host, key, call)
    if (decision.action === 'result') {
      await host.record('tool.completed', { call: id, name, output: decision.value, key })
      return decision.value as Result
    }
  }
  let result: Result
  try {
    result = await work({ key: id, signal: host.signal })
  } catch (thrown) {
    if (host.signal.aborted) throw thrown
    await host.record('tool.failed', { call: id, name, error: failureOf(thrown), key })
    throw thrown
  }
  await host.record('tool.completed', { call: id, name, output: result ?? null, key })
  return result
}

type Decision = { readonly action: 'retry' } | { readonly action: 'result'; readonly value: unknown }

const DECISION_SCHEMA = {
  oneOf: [
    { type: 'object', properties: { action: { enum: ['retry', 'fail'] } }, required: ['action'] },
    { type: 'object', properties: { action: { const: 'result' }, value: {} }, required: ['action', 'value'] },
  ],
}

/** A call was begun and never ended: it may have had its effect. Only its owner can say what to do. */
async function decide(host: ContextHost, key: string, call: ToolCall): Promise<Decision> {
  const message = `tool ${call.name} was interrupted and may have had its effect`
  if (host.uncertain === 'fail')
    return host.fail({ code: 'uncertain_tool', message, details: { tool: call.name, key } })
  const answer = await ask(host, `uncertain:${key}`, {
    prompt: `${message}. Repeat it, give its result, or fail the run?`,
    kind: 'uncertain',
    schema: DECISION_SCHEMA,
    details: { tool: call.name, input: call.input, key },
  })
  const { action, value } = (typeof answer === 'object' && answer !== null ? answer : { action: answer }) as {
    action?: unknown
    value?: unknown
  }
  if (action === 'retry') return { action }
  if (action === 'result') return { action, value: value ?? null }
  return host.fail({
    code: 'uncertain_tool',
    message: `${message}, and it was decided not to go on`,
    details: { tool: call.name, key },
  })
}

async function ask(host: ContextHost, key: string, { timeoutMs, kind, ...options }: AskOptions): Promise<unknown> {
  const known = host.ledger.get(askKey(key))
  if (known !== undefined) return recorded(known)
  return host.wait({
    id: key,
    kind: kind ?? 'input',
    ...options,
    ...(timeoutMs !== undefined && { deadline: new Date(host.now() + timeoutMs).toISOString() }),
  })
}

function recorded(entry: LedgerEntry): unknown {
  if (entry.state === 'failed') throw new RecordedFailure(entry.failure)
  return entry.state === 'done' ? entry.result : undefined
}

function failureOf(thrown: unknown): Failure {
  return {
    code: 'agent_failed',
    message: messageOf(thrown),
    ...(thrown instanceof Error && { details: { type: thrown.name } }),
  }
}
