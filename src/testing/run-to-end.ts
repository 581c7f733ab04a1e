/** `runToEnd`: runs a component in memory until it ends, with answers and a model of the test's choice. */
import type { LanguageModel } from 'ai'
import { withTestModel } from '../agents/model/scripted/test-model.ts'
import type { Component } from '../core/ports/component.ts'
import type { EventData, Failure, LoggedEvent, Question, Usage } from '../core/model/event.ts'
import type { RunStatus } from '../core/model/run.ts'
import type { Limits } from '../core/model/limits.ts'
import type { ToolEntry } from '../core/structure/entries.ts'
import { RunStructure } from '../core/structure/run-structure.ts'
import { type Holdfast, holdfast } from '../mount/holdfast.ts'
import { silentLogger } from '../core/ports/logger.ts'

/** An answer for a question, by its id or else by its kind; or a function of the question. */
export type TestAnswers = Readonly<Record<string, unknown>> | ((question: Question) => unknown)

/** Options of `runToEnd`. */
export interface RunToEndOptions {
  /** Default: none; a run that asks a question fails the test. */
  readonly answers?: TestAnswers
  /** Replaces the model of every model agent and team in the run, such as `scriptedModel({ script })`. Default: their own models. */
  readonly model?: LanguageModel
  /** Default: a new session. */
  readonly session?: string
  /** Default: none. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Default: as `Limits` says, with `drainTimeoutMs: 0`. */
  readonly limits?: Partial<Limits>
  /** Rejects if the run has not ended by then. Default: 30,000. */
  readonly timeoutMs?: number
}

/** Result of `runToEnd`. */
export interface EndedRun<Output = unknown> {
  readonly status: RunStatus
  /** Output of `run.completed`. */
  readonly output: Output | undefined
  /** Error of `run.failed`. */
  readonly error: Failure | undefined
  readonly events: readonly LoggedEvent[]
  /** Text of the run, without retracted output. */
  readonly text: string
  /** Every tool call, in the order of their starts. */
  readonly toolCalls: readonly TestToolCall[]
  /** Every question that was asked. */
  readonly questions: readonly Question[]
  readonly usage: Usage | undefined
}

/** A tool call of an ended run. */
export interface TestToolCall {
  readonly name: string
  readonly input: unknown
  readonly output?: unknown
  readonly error?: Failure
}

const TIMEOUT_MS = 30_000

/**
 * Runs a component in memory until it ends, with answers and a model of the test's choice.
 *
 * @example
 * ```ts
 * const { output, text } = await runToEnd(storyteller, 'Tell me a story.')
 * ```
 */
export async function runToEnd<Input, Output>(
  // oxlint-disable-next-line typescript/no-explicit-any -- what its schema makes of the input is its own concern
  component: Component<Input, Output, any>,
  input: Input,
  options: RunToEndOptions = {},
): Promise<EndedRun<Output>> {
  const { model } = options
  const run = (): Promise<EndedRun<Output>> => execute(component, input, options)
  return model === undefined ? run() : withTestModel(model, run)
}

async function execute<Input, Output>(
  component: Component<Input, Output>,
  input: Input,
  options: RunToEndOptions,
): Promise<EndedRun<Output>> {
  const { session, metadata, limits, timeoutMs = TIMEOUT_MS } = options
  const instance = holdfast({
    components: [component],
    store: 'memory:',
    protocols: [],
    logger: silentLogger,
    limits: { drainTimeoutMs: 0, ...limits },
  })
  try {
    const started = await instance.runs.start({
      component: component.id,
      input,
      ...(session !== undefined && { session }),
      ...(metadata !== undefined && { metadata }),
    })
    const signal = AbortSignal.timeout(timeoutMs)
    const late = new Error(`the run of ${component.id} has not ended within ${timeoutMs} ms (timeoutMs)`)
    const events = await follow(started, options.answers, signal).catch((thrown: unknown) => {
      throw signal.aborted ? late : thrown
    })
    return resultOf(events)
  } finally {
    await instance.close()
  }
}

type StartedRun = Awaited<ReturnType<Holdfast['runs']['start']>>

async function follow(run: StartedRun, answers: TestAnswers | undefined, signal: AbortSignal): Promise<LoggedEvent[]> {
  const events: LoggedEvent[] = []
  for await (const event of run.events({ signal })) {
    events.push(event)
    if (event.type === 'run.paused') await run.answer({ answers: await answersTo(event.data.questions, answers) })
  }
  signal.throwIfAborted()
  return events
}

async function answersTo(
  questions: readonly Question[],
  answers: TestAnswers | undefined,
): Promise<Readonly<Record<string, unknown>>> {
  const given: Record<string, unknown> = {}
  for (const question of questions) given[question.id] = await answerTo(question, answers)
  return given
}

async function answerTo(question: Question, answers: TestAnswers = {}): Promise<unknown> {
  const { id, kind, prompt } = question
  const answer = typeof answers === 'function' ? await answers(question) : (answers[id] ?? answers[kind])
  if (answer !== undefined) return answer
  throw new Error(
    `the run asks ${JSON.stringify(prompt)}, and \`answers\` has no answer: add one for ${JSON.stringify(id)} (its id) or ${JSON.stringify(kind)} (its kind)`,
  )
}

function resultOf<Output>(events: readonly LoggedEvent[]): EndedRun<Output> {
  const structure = new RunStructure()
  for (const event of events) structure.apply(event)
  const entries = structure.entries()
  const { type, data } = events.at(-1)!
  const { output, error, usage } = data as Partial<EventData['run.completed'] & EventData['run.failed']>
  return {
    status: type.slice('run.'.length) as RunStatus,
    output: output as Output | undefined,
    error,
    events,
    text: entries.map((entry) => (entry.kind === 'text' && !entry.retracted ? entry.text : '')).join(''),
    toolCalls: entries.flatMap((entry) => (entry.kind === 'tool' ? [toolCall(entry)] : [])),
    questions: events.flatMap((event) => (event.type === 'run.paused' ? event.data.questions : [])),
    usage,
  }
}

function toolCall({ name, input, output, error }: ToolEntry): TestToolCall {
  return { name, input, ...(output !== undefined && { output }), ...(error !== undefined && { error }) }
}
