/** What an agent can do besides yielding: each piece of work has its entry in the log, so that a recovered run knows it. */
import { callActor } from './actors.ts'
import { type Component, type Emission, RejectedError, type RunContext, type StepAbout } from './agent.ts'
import { emitAll } from './emit-all.ts'
import { ledgerKey, type WorkKind } from './history.ts'
import { RunFailure } from './emission.ts'
import { type Event, isEventType, isTerminal } from './event.ts'
import { iterate } from './iterate.ts'
import { asRecorded, ask, failureOf, record, recorded, type Scope } from './scope.ts'
import { callTool } from './tools.ts'

export function createContext(scope: Scope): RunContext {
  const { host, facts, signal, actor } = scope
  const keyOf = counter(scope.prefix)
  return {
    ...facts,
    signal,
    get replaying() {
      return host.isReplaying(actor)
    },
    step: (name, work, about) => quiet(step(scope, keyOf('step', checkName(name)), name, work, about)),
    stage: (name, work, about) => quiet(stage(scope, keyOf('step', checkName(name)), name, work, about)),
    tool: (call, work) => quiet(callTool(scope, keyOf('tool', checkName(call.name)), call, work)),
    call: (component, input, options = {}) =>
      quiet(
        callActor(
          scope,
          keyOf('actor', checkName(options.name ?? component.id)),
          component as Component,
          input,
          options,
          createContext,
        ),
      ),
    within: (branch) => createContext({ ...scope, prefix: `${keyOf('branch', checkName(branch))}~/` }),
    ask: (question) =>
      quiet(ask(scope, keyOf('ask', 'question'), typeof question === 'string' ? { prompt: question } : question)),
    sleep: (milliseconds) => quiet(host.isReplaying(actor) ? Promise.resolve() : sleep(milliseconds, signal)),
    history: async (options = {}) => (actor !== undefined && options.of !== 'session' ? [] : host.history(options)),
    reject(reason) {
      throw new RejectedError(reason)
    },
  }
}

/** An agent may leave work unawaited; that such work is cut off when the run ends must not bring the process down. */
function quiet<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => {})
  return work
}

/** The n-th work of a kind and name has the same key in every attempt; the first has the bare name. */
function counter(prefix: string): (kind: WorkKind | 'branch', name: string) => string {
  const counts = new Map<string, number>()
  return (kind, name) => {
    const counted = `${kind}:${name}`
    const count = (counts.get(counted) ?? 0) + 1
    counts.set(counted, count)
    const key = prefix + name.replace(/[%/#~]/g, (separator) => `%${separator.charCodeAt(0).toString(16)}`)
    return count === 1 ? key : `${key}#${count}`
  }
}

const NAME_CHARS_MAX = 256

function checkName(name: unknown): string {
  if (typeof name === 'string' && name !== '' && name.length <= NAME_CHARS_MAX) return name
  throw new TypeError(`a step, tool, call or branch needs a name of 1 to ${NAME_CHARS_MAX} characters`)
}

async function step<Result>(
  scope: Scope,
  key: string,
  name: string,
  work: (signal: AbortSignal) => Promise<Result> | Result,
  about: StepAbout = { kind: 'function' },
): Promise<Result> {
  const { host, signal } = scope
  const known = host.ledger.get(ledgerKey('step', key))
  if (known !== undefined && known.state !== 'begun') return recorded(known) as Result
  if (known === undefined) await record(scope, 'step.started', { step: key, name, ...about, key })
  let result: Result
  try {
    result = await work(signal)
  } catch (thrown) {
    if (signal.aborted) throw thrown
    await record(scope, 'step.failed', { step: key, name, error: failureOf(thrown), key })
    throw thrown
  }
  await record(scope, 'step.completed', { step: key, name, output: result, key })
  return asRecorded(scope, result)
}

async function stage<Result>(
  scope: Scope,
  key: string,
  name: string,
  work: () => AsyncGenerator<Emission, Result, void>,
  about: StepAbout = { kind: 'function' },
): Promise<Result> {
  const { host, signal, actor } = scope
  const known = host.ledger.get(ledgerKey('step', key))
  if (known !== undefined && known.state !== 'begun') return recorded(known) as Result
  const from = known?.index ?? host.next()
  if (known === undefined) await record(scope, 'step.started', { step: key, name, ...about, covers: true, key })
  let result: Result
  try {
    result = (await emitAll(scope, iterate(work()), goOn, new Promise(() => {}))) as Result
  } catch (thrown) {
    if (signal.aborted) throw thrown
    host.endReplayOfStep(actor)
    await host.discard(actor, from, 'own')
    await record(scope, 'step.failed', { step: key, name, error: failureOf(thrown), key })
    throw thrown
  }
  host.endReplayOfStep(actor)
  await record(scope, 'step.completed', { step: key, name, output: result, key })
  return asRecorded(scope, result)
}

/** A stage ends when it returns; to end the run is not its to do. */
function goOn(emission: Emission): undefined {
  const type = (emission as Event | null)?.type
  if (isEventType(type) && isTerminal(type)) throw new RunFailure('protocol_violation', `a stage yielded ${type}`)
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
