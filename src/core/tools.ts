/** Tool calls: the intent is in the log before the work starts, so that a call that was cut off is known to be uncertain. */
import type { ToolAttempt, ToolCall } from './agent.ts'
import { asRecorded, ask, failureOf, record, recorded, type Scope } from './scope.ts'
import { ledgerKey } from './history.ts'

export async function callTool<Result>(
  scope: Scope,
  key: string,
  call: ToolCall,
  work: (call: ToolAttempt) => Promise<Result> | Result,
): Promise<Result> {
  const { host, signal, facts } = scope
  const { name, input } = call
  const known = host.ledger.get(ledgerKey('tool', key))
  if (known !== undefined && known.state !== 'begun') return recorded(known) as Result
  const id = call.id ?? `${facts.run}/${key}`
  if (known?.state === 'begun' && call.idempotent !== true) {
    const decision = await decide(scope, known.times === 1 ? key : `${key}#${known.times}`, call)
    if (decision.action === 'result') {
      await record(scope, 'tool.completed', { call: id, name, output: decision.value, key })
      return decision.value as Result
    }
  }
  // Also when it is repeated: if it is cut off once more, that is another decision.
  if (known === undefined || call.idempotent !== true) {
    await record(scope, 'tool.called', { call: id, name, input: input ?? null, key })
  }
  const progress = new Progress(scope, id, key)
  let result: Result
  try {
    result = await work({ key: `${facts.run}/${key}`, signal, progress: (value) => progress.show(value) })
  } catch (thrown) {
    if (signal.aborted) throw thrown
    await record(scope, 'tool.failed', { call: id, name, error: failureOf(thrown), key })
    throw thrown
  } finally {
    progress.end()
  }
  await record(scope, 'tool.completed', { call: id, name, output: result ?? null, key })
  return asRecorded(scope, result ?? null) as Result
}

/**
 * What a tool shows while it works. Values are in the order in which they were given; while the log is behind, only the newest
 * one waits, so a tool that does not wait costs no memory.
 */
class Progress {
  readonly #scope: Scope
  readonly #about: { readonly call: string; readonly key: string }
  #held: Promise<void> | undefined
  #newest: { readonly value: unknown } | undefined
  #ended = false

  constructor(scope: Scope, call: string, key: string) {
    this.#scope = scope
    this.#about = { call, key }
  }

  show(value: unknown): Promise<void> {
    if (this.#ended) return Promise.resolve()
    if (this.#held === undefined) return this.#put(value)
    this.#newest = { value }
    return this.#held
  }

  /** What was still to be shown is not: the tool's result says more. */
  end(): void {
    this.#ended = true
  }

  #put(value: unknown): Promise<void> {
    const { host, actor } = this.#scope
    const { call, key } = this.#about
    const data = { call, output: value ?? null, key }
    const held = host.show({ type: 'tool.progressed', data, ...(actor !== undefined && { actor }) })
    if (held === undefined) return Promise.resolve()
    this.#held = held.then(() => this.#next())
    this.#held.catch(() => {}) // a tool need not wait; that the log is lost ends its run anyway
    return this.#held
  }

  #next(): Promise<void> | undefined {
    this.#held = undefined
    const newest = this.#newest
    this.#newest = undefined
    return newest === undefined || this.#ended ? undefined : this.#put(newest.value)
  }
}

type Decision = { readonly action: 'retry' } | { readonly action: 'result'; readonly value: unknown }

const DECISION_SCHEMA = {
  oneOf: [
    { type: 'object', properties: { action: { enum: ['retry', 'fail'] } }, required: ['action'] },
    { type: 'object', properties: { action: { const: 'result' }, value: {} }, required: ['action', 'value'] },
  ],
}

/** A call was begun and never ended: it may have had its effect. Only its owner can say what to do. */
async function decide(scope: Scope, key: string, call: ToolCall): Promise<Decision> {
  const { host, uncertain } = scope
  const message = `tool ${call.name} was interrupted and may have had its effect`
  const details = { tool: call.name, key }
  if (uncertain === 'fail') return host.fail({ code: 'uncertain_tool', message, details })
  const answer = await ask(scope, `uncertain:${key}`, {
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
  return host.fail({ code: 'uncertain_tool', message: `${message}, and it was decided not to go on`, details })
}
