/** Runs components within another component's run: members of a team, executors of a workflow's steps. */
import {
  type CallOptions,
  type Component,
  type Emission,
  RejectedError,
  type RunContext,
  WorkError,
} from '../ports/component.ts'
import type { Clock } from '../ports/clock.ts'
import { emitAll } from './emit-all.ts'
import { assertFields } from './emission.ts'
import { RunFailure } from './run-failure.ts'
import { type Actor, type Event, eventTable, type Failure, type Usage } from '../model/event.ts'
import { countedKeys } from './branches.ts'
import { runComponent } from './run-component.ts'
import { perform, request, type Work } from './perform-work.ts'
import { record, type ActorScope } from './actor-scope.ts'
import { failureOf, replayOutcome } from '../recovery/recorded-failure.ts'
import { startTimer } from '../runtime/timer.ts'
import { callName, escapeName } from '../recovery/recorded-work.ts'

/** Maximum depth of nested calls. */
const DEPTH_MAX = 16

export async function callComponent(
  scope: ActorScope,
  name: string,
  component: Component,
  input: unknown,
  options: CallOptions,
  createContext: (scope: ActorScope) => RunContext,
): Promise<unknown> {
  if (scope.depth >= DEPTH_MAX)
    throw new WorkError({
      code: 'agent_failed',
      message: `component calls are nested more than ${DEPTH_MAX} deep: check for components that call each other`,
    })
  if (component.redact !== undefined) scope.host.redactBy(component.redact)
  const escaped = escapeName(name)
  const label = callName(escaped, component.id)
  const work = request(scope, { kind: 'actor', name: escaped, label, input: input ?? null })
  const known = work.record?.outcome
  if (known !== undefined && known.state !== 'started') return replayOutcome(known)
  return perform(scope, work, { isExclusive: true }, (ending) =>
    runActor(scope, work, component, input, options, createContext, ending),
  )
}

async function runActor(
  scope: ActorScope,
  { key, ref, marks, record: known }: Work,
  component: Component,
  input: unknown,
  options: CallOptions,
  createContext: (scope: ActorScope) => RunContext,
  ending: () => Promise<void>,
): Promise<unknown> {
  const { host, facts, signal } = scope
  const actor: Actor = {
    component: component.id,
    run: `${rootOf(facts.runId)}/${key}`,
    parent: facts.runId,
    kind: component.kind,
  }
  const from = known?.index ?? host.next()
  const controller = new AbortController()
  const stopListening = follow(controller, [signal, options.signal], options.timeoutMs, host.clock)
  const prefix = `${key}/`
  const inner: ActorScope = {
    ...scope,
    facts: { ...facts, runId: actor.run },
    signal: controller.signal,
    uncertain: component.onUncertainTool ?? scope.uncertain,
    onUnserializable: component.onUnserializable ?? scope.onUnserializable,
    actor,
    prefix,
    within: ref,
    branch: undefined,
    counted: countedKeys(prefix),
    depth: scope.depth + 1,
  }
  const declared: DeclaredUsage = {}
  const letGo = component.onPause === 'release' ? host.holdReleasable() : undefined
  try {
    if (known === undefined) await record(inner, 'actor.started', { input: input ?? null, key, ...marks })
    const output = await emitOutput(inner, component, input, createContext(inner), declared)
    await ending()
    host.endReplay(actor)
    const logged = await record(inner, 'actor.completed', {
      ...(output !== undefined && { output }),
      ...usageField(inner, declared),
      key,
    })
    return logged.output
  } catch (thrown) {
    if (signal.aborted) throw thrown
    const failure = explain(thrown, controller.signal)
    host.endReplay(actor)
    if (options.retractFailure === true) await host.discard(actor, from, 'below')
    const logged = await record(inner, 'actor.failed', { error: failure, ...usageField(inner, declared), key })
    throw new WorkError(logged.error, { cause: thrown })
  } finally {
    letGo?.()
    stopListening()
    if (!controller.signal.aborted) controller.abort(new Error('the call has ended'))
  }
}

/** Usage that a component declares when it ends. */
interface DeclaredUsage {
  usage?: Usage
}

function usageField({ host, actor }: ActorScope, { usage: declared }: DeclaredUsage): { readonly usage?: Usage } {
  const usage = host.endUsage(actor!, declared)
  return usage === undefined ? {} : { usage }
}

/** Runs the component and logs what it emits. Resolves with its output. */
async function emitOutput(
  scope: ActorScope,
  component: Component,
  input: unknown,
  context: RunContext,
  declared: DeclaredUsage,
): Promise<unknown> {
  const aborted = whenAborted(scope.signal)
  try {
    return await emitAll(
      scope,
      runComponent(component, input, context),
      (emission) => endOf(emission, declared),
      aborted.promise,
    )
  } finally {
    aborted.forget()
  }
}

/** Checks a terminal event that a called component emits. */
function endOf(emission: Emission, declared: DeclaredUsage): { readonly output: unknown } | undefined {
  const event = emission as Event
  if (typeof emission === 'string' || eventTable[event?.type]?.effect !== 'terminal') return undefined
  assertFields(event)
  const { usage } = event.data as DeclaredUsage
  if (usage !== undefined) declared.usage = usage
  switch (event.type) {
    case 'run.completed':
      return { output: event.data.output }
    case 'run.failed':
      throw new WorkError(event.data.error)
    case 'run.rejected':
      throw new RejectedError(event.data.reason)
    default:
      return undefined
  }
}

function explain(thrown: unknown, signal: AbortSignal): Failure {
  if (signal.aborted && signal.reason instanceof RunFailure) return signal.reason.failure
  if (thrown instanceof RunFailure) return thrown.failure
  if (thrown instanceof RejectedError) return { code: 'rejected', message: thrown.message }
  return failureOf(thrown)
}

function rootOf(run: string): string {
  const slash = run.indexOf('/')
  return slash < 0 ? run : run.slice(0, slash)
}

/** Aborts when one of the signals aborts, or at the timeout. */
function follow(
  controller: AbortController,
  signals: readonly (AbortSignal | undefined)[],
  timeoutMs: number | undefined,
  clock: Clock,
): () => void {
  const present = signals.filter((signal) => signal !== undefined)
  const abort = (): void => controller.abort(present.find((signal) => signal.aborted)?.reason)
  for (const signal of present) {
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
  }
  const timeout = (): void =>
    controller.abort(new RunFailure('deadline_exceeded', `the call took longer than ${timeoutMs} ms`))
  const stopTimer = timeoutMs === undefined ? undefined : startTimer(timeout, timeoutMs, clock)
  return () => {
    stopTimer?.()
    for (const signal of present) signal.removeEventListener('abort', abort)
  }
}

function whenAborted(signal: AbortSignal): { readonly promise: Promise<never>; forget(): void } {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason as Error)
  promise.catch(() => {}) // the abort may come when nothing awaits it any more
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  return { promise, forget: () => signal.removeEventListener('abort', abort) }
}
