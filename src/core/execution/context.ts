/** The context of an agent: steps, tools, calls, questions and sleeps, each recorded in the log for recovery. */
import { callComponent } from './call-component.ts'
import { askTyped } from './ask-typed.ts'
import {
  type AskOptions,
  type Component,
  type Emission,
  RejectedError,
  type RunContext,
  type ContextStepOptions,
} from '../ports/component.ts'
import { Branches } from './branches.ts'
import { emitAll } from './emit-all.ts'
import { RunFailure } from './run-failure.ts'
import { type Event, isEventType, isTerminal } from '../model/event.ts'
import { iterate } from './iterate.ts'
import { perform, request, revisit } from './perform-work.ts'
import { asRecorded, ask, record, type ActorScope } from './actor-scope.ts'
import { sleep, sleepUntil } from './sleep.ts'
import { callTool } from './call-tool.ts'
import { failureOf, replayOutcome, toThrow } from '../recovery/recorded-failure.ts'
import { escapeName } from '../recovery/recorded-work.ts'

export function createContext(scope: ActorScope): RunContext {
  const { host, facts, signal, actor } = scope
  const branches = new Branches(scope)
  return {
    ...facts,
    signal,
    get replaying() {
      return host.isReplaying(actor)
    },
    step: (name, work, options) => withRejectionHandled(step(scope, checkName(name), work, options)),
    stage: (name, work, options) => withRejectionHandled(stage(scope, checkName(name), work, options)),
    tool: (call, work) => (checkName(call.name), withRejectionHandled(callTool(scope, call, work))),
    call: (component, input, options = {}) =>
      withRejectionHandled(
        callComponent(
          scope,
          checkName(options.name ?? component.id),
          component as Component,
          input,
          options,
          createContext,
        ),
      ) as Promise<never>,
    within: (branch) => createContext(branches.open(checkName(branch))),
    ask: (question: string | AskOptions) =>
      withRejectionHandled(askTyped(question, (plain) => ask(scope, plain))) as Promise<never>,
    sleep: (milliseconds) => withRejectionHandled(sleep(scope, milliseconds)),
    sleepUntil: (time) =>
      withRejectionHandled(sleepUntil(scope, typeof time === 'number' ? time : Date.parse(String(time)))),
    history: async (options = {}) => (actor !== undefined && options.of !== 'session' ? [] : host.history(options)),
    reject(reason) {
      throw new RejectedError(reason)
    },
  }
}

/** Handles the rejection of work that the agent does not await: when the run ends, it must not crash the process. */
function withRejectionHandled<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => {})
  return work
}

const NAME_CHARS_MAX = 256

function checkName(name: unknown): string {
  if (typeof name === 'string' && name !== '' && name.length <= NAME_CHARS_MAX) return name
  throw new TypeError(`a step, tool, call or branch needs a name of 1 to ${NAME_CHARS_MAX} characters`)
}

function step<Result>(
  scope: ActorScope,
  name: string,
  body: (signal: AbortSignal) => Promise<Result> | Result,
  options?: ContextStepOptions,
): Promise<Result> {
  return recordedStep(scope, name, options, async () => body(scope.signal))
}

/** A step with output, which is retracted if the step fails and not emitted again once the step has ended. */
function stage<Result>(
  scope: ActorScope,
  name: string,
  body: () => AsyncGenerator<Emission, Result, void>,
  options?: ContextStepOptions,
): Promise<Result> {
  const { host, actor } = scope
  return recordedStep(
    scope,
    name,
    options,
    async () => (await emitAll(scope, iterate(body()), goOn, new Promise(() => {}))) as Result,
    {
      completed: () => host.endReplayOfStep(actor),
      failed: (from) => {
        host.endReplayOfStep(actor)
        return host.discard(actor, from, 'own')
      },
    },
  )
}

/** Processes the output of a step before its end is recorded. */
interface StepOutput {
  completed(): void
  /** `from`: index of its first event. */
  failed(from: number): Promise<void>
}

async function recordedStep<Result>(
  scope: ActorScope,
  name: string,
  { key: input, revisit: again, ...about }: ContextStepOptions = { kind: 'function' },
  body: () => Promise<Result>,
  output?: StepOutput,
): Promise<Result> {
  const { host, signal } = scope
  const work = request(scope, { kind: 'step', name: escapeName(name), input })
  const { key, marks, record: known } = work
  if (known !== undefined && known.outcome.state !== 'started') {
    await revisit(scope, work, again)
    return replayOutcome(known.outcome) as Result
  }
  return perform(scope, work, { isExclusive: true }, async (ending) => {
    const from = known?.index ?? host.next()
    const covers = output !== undefined && ({ covers: true } as const)
    if (known === undefined)
      await record(scope, 'step.started', { step: key, name, ...about, ...covers, key, ...marks })
    let result: Result
    try {
      result = await body()
    } catch (thrown) {
      if (signal.aborted) throw thrown
      await output?.failed(from)
      const error = failureOf(thrown)
      const logged = await record(scope, 'step.failed', { step: key, name, error, key })
      throw toThrow(logged.error, thrown)
    }
    output?.completed()
    await ending()
    const logged = await record(scope, 'step.completed', { step: key, name, output: result, key })
    return asRecorded(scope, logged.output as Result)
  })
}

/** Rejects terminal events: a step ends when it returns. */
function goOn(emission: Emission): undefined {
  const type = (emission as Event | null)?.type
  if (isEventType(type) && isTerminal(type))
    throw new RunFailure('protocol_violation', `a stage yielded ${type}, but a stage must end by returning`)
}
