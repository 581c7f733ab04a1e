/** Tool calls: the intent is in the log before the work starts, so that an interrupted call is known to be uncertain. */
import type { ToolAttempt, ToolCall } from '../ports/component.ts'
import { perform, request, type Work } from './perform-work.ts'
import { askOwner, asRecorded, record, type ActorScope } from './actor-scope.ts'
import { failureOf, replayOutcome, toThrow } from '../recovery/recorded-failure.ts'
import { escapeName } from '../recovery/recorded-work.ts'

export async function callTool<Result>(
  scope: ActorScope,
  call: ToolCall,
  body: (call: ToolAttempt) => Promise<Result> | Result,
): Promise<Result> {
  const work = request(scope, { kind: 'tool', name: escapeName(call.name), input: call.input ?? null })
  const known = work.record?.outcome
  if (known !== undefined && known.state !== 'started') return replayOutcome(known) as Result
  return perform(scope, work, { isExclusive: false }, (ending) => attempt(scope, work, call, body, ending))
}

async function attempt<Result>(
  scope: ActorScope,
  { key, marks, record: known }: Work,
  call: ToolCall,
  body: (call: ToolAttempt) => Promise<Result> | Result,
  ending: () => Promise<void>,
): Promise<Result> {
  const { signal, facts } = scope
  const { name, input } = call
  const id = call.id ?? `${facts.runId}/${key}`
  if (known !== undefined && call.idempotent !== true) {
    const times = known.outcome.state === 'started' ? known.outcome.times : 1
    const decision = await decide(scope, key, times, call)
    if (decision.action === 'result') {
      const logged = await record(scope, 'tool.completed', { call: id, name, output: decision.value, key })
      return logged.output as Result
    }
  }
  // Also for a repeated call: another interruption needs another decision.
  if (known === undefined || call.idempotent !== true) {
    await record(scope, 'tool.called', { call: id, name, input: input ?? null, key, ...marks })
  }
  const progress = new Progress(scope, id, key)
  let result: Result
  try {
    result = await body({ key: `${facts.runId}/${key}`, signal, progress: (value) => progress.show(value) })
  } catch (thrown) {
    if (signal.aborted) throw thrown
    const error = failureOf(thrown)
    const logged = await record(scope, 'tool.failed', { call: id, name, error, key })
    throw toThrow(logged.error, thrown)
  } finally {
    progress.end()
  }
  await ending()
  const logged = await record(scope, 'tool.completed', { call: id, name, output: result ?? null, key })
  return asRecorded(scope, logged.output) as Result
}

/**
 * Progress of a tool. Values are logged in order. While the log is behind, only the newest value is kept, so a tool that does not
 * await its progress costs no memory.
 */
class Progress {
  readonly #scope: ActorScope
  readonly #about: { readonly call: string; readonly key: string }
  #backpressure: Promise<void> | undefined
  #newest: { readonly value: unknown } | undefined
  #ended = false

  constructor(scope: ActorScope, call: string, key: string) {
    this.#scope = scope
    this.#about = { call, key }
  }

  show(value: unknown): Promise<void> {
    if (this.#ended) return Promise.resolve()
    if (this.#backpressure === undefined) return this.#put(value)
    this.#newest = { value }
    return this.#backpressure
  }

  /** Drops progress that was not logged yet: the tool's result supersedes it. */
  end(): void {
    this.#ended = true
  }

  #put(value: unknown): Promise<void> {
    const { host, actor } = this.#scope
    const { call, key } = this.#about
    const data = { call, output: value ?? null, key }
    const backpressure = host.show({ type: 'tool.progressed', data, ...(actor !== undefined && { actor }) })
    if (backpressure === undefined) return Promise.resolve()
    this.#backpressure = backpressure.then(() => this.#next())
    this.#backpressure.catch(() => {}) // a tool need not await its progress; a lost log ends the run anyway
    return this.#backpressure
  }

  #next(): Promise<void> | undefined {
    this.#backpressure = undefined
    const newest = this.#newest
    this.#newest = undefined
    return newest === undefined || this.#ended ? undefined : this.#put(newest.value)
  }
}

type Decision = { readonly action: 'retry' } | { readonly action: 'result'; readonly value: unknown }

const DECISION_SCHEMA = {
  oneOf: [
    { enum: ['retry', 'fail'] },
    { type: 'object', properties: { action: { enum: ['retry', 'fail'] } }, required: ['action'] },
    { type: 'object', properties: { action: { const: 'result' }, value: {} }, required: ['action', 'value'] },
  ],
}

/** The call started and its end is not recorded, so it may have had its effect. Only the run's owner can decide what to do. */
async function decide(scope: ActorScope, key: string, times: number, call: ToolCall): Promise<Decision> {
  const { host, uncertain } = scope
  const message = `tool ${call.name} was interrupted and may have had its effect`
  const details = { tool: call.name, key }
  if (uncertain === 'fail') return host.fail({ code: 'uncertain_tool', message, details })
  const answer = await askOwner(scope, {
    id: `uncertain:${times === 1 ? key : `${key}~${times}`}`, // `#` would make it the id of another call
    prompt: `${message}. Repeat it, give its result, or fail the run?`,
    kind: 'uncertain',
    schema: DECISION_SCHEMA,
    details: { ...details, input: call.input },
  })
  const { action, value } = (typeof answer === 'object' && answer !== null ? answer : { action: answer }) as {
    action?: unknown
    value?: unknown
  }
  if (action === 'retry') return { action }
  if (action === 'result') return { action, value: value ?? null }
  return host.fail({ code: 'uncertain_tool', message: `${message}; the run's owner chose to fail it`, details })
}
