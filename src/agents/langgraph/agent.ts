/** Component for a compiled LangGraph.js graph: each superstep is a step of the run, each interrupt a question. */
import { type Component, createEvent, type Emission, type RunContext } from '../../core/ports/component.ts'
import { optionalPackage } from '../../core/runtime/optional-package.ts'
import { askDecision } from '../shared/approval.ts'
import { aCount, aFunction, anObject, oneOf, type OptionRules } from '../../core/model/check-options.ts'
import { checkDefinition, type CommonDefinition, commonOf, commonRules } from '../shared/component.ts'
import { leg } from '../shared/leg.ts'
import { textOf } from '../shared/text-of.ts'
import { GraphStream, type Interrupt, type Superstep } from './stream.ts'
import { type LangGraph, Thread } from './thread.ts'
import { outputOf } from './values.ts'

/** Options of `langGraphAgent`. */
export interface LangGraphAgentDefinition extends CommonDefinition {
  /** Result of `compile()`. */
  readonly graph: LangGraph
  /** Maps the run's input to the graph's. Default: a string becomes a user message, an object is passed unchanged. */
  readonly mapInput?: (input: unknown, context: RunContext) => unknown
  /** Maps the graph's final state to the run's output. Default: the text of the last message, or else the state. */
  readonly mapOutput?: (state: unknown) => unknown
  /** Thread of the graph's checkpoints. `run`: one per run. `session`: shared by the session's runs, so the graph remembers. Default: `run`. */
  readonly thread?: 'run' | 'session'
  /** Additional `configurable` values of the graph. Default: none. */
  readonly configurable?: (context: RunContext) => Readonly<Record<string, unknown>>
  /** Default: LangGraph's own. */
  readonly recursionLimit?: number
}

/** Maximum supersteps and answers in one run. */
const SUPERSTEPS_MAX = 10_000

const RULES: OptionRules<LangGraphAgentDefinition> = {
  ...commonRules,
  graph: anObject,
  mapInput: aFunction,
  mapOutput: aFunction,
  thread: oneOf('run', 'session'),
  configurable: aFunction,
  recursionLimit: aCount,
}

/**
 * A component from a compiled LangGraph.js graph: each superstep is a step of the run, each interrupt a question.
 *
 * @example
 * ```ts
 * langGraphAgent({ id: 'researcher', graph: builder.compile({ checkpointer }) })
 * ```
 */
export function langGraphAgent(definition: LangGraphAgentDefinition): Component {
  checkDefinition('langGraphAgent', definition, RULES, ['graph'])
  return {
    ...commonOf(definition),
    kind: 'agent',
    run: (input, context) => run(definition, input, context),
  }
}

async function* run(
  definition: LangGraphAgentDefinition,
  input: unknown,
  context: RunContext,
): AsyncGenerator<Emission, void, void> {
  const name = '@langchain/langgraph'
  const { Command } = await optionalPackage(
    'a LangGraph agent',
    name,
    () => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ '@langchain/langgraph'),
  )
  const thread = new Thread(definition.graph, configOf(definition, context))
  // The thread's checkpoint before this run: an interrupted start is repeated from there.
  let checkpoint = await context.step('thread', () => thread.head())
  let graphInput = definition.mapInput === undefined ? inputOf(input) : definition.mapInput(input, context)
  let stream: GraphStream | undefined
  for (let count = 1; count <= SUPERSTEPS_MAX; count++) {
    const position = { id: `${context.runId}/${count}`, after: checkpoint }
    const step: Superstep = await leg(context, 'superstep', async function* () {
      stream ??= new GraphStream(thread, await thread.open(graphInput, checkpoint))
      return yield* stream.superstep(position, definition.mapOutput ?? outputOf)
    })
    if (step.checkpoint !== undefined) {
      checkpoint = step.checkpoint
      graphInput = null
    }
    if (step.end === undefined) continue
    const { interrupts, next, output } = step.end
    if (interrupts.length === 0 && next.length === 0) return yield createEvent('run.completed', { output })
    stream = undefined
    if (interrupts.length > 0) graphInput = new Command({ resume: await answersTo(interrupts, context) })
    else await passBreakpoint(next, context)
  }
  throw new Error(`the graph took more than ${SUPERSTEPS_MAX} supersteps in one run`)
}

function configOf(definition: LangGraphAgentDefinition, context: RunContext): Record<string, unknown> {
  const { thread = 'run', configurable, recursionLimit } = definition
  return {
    configurable: { ...configurable?.(context), thread_id: thread === 'run' ? context.runId : context.sessionId },
    signal: context.signal,
    // A superstep is checkpointed before the next one starts.
    durability: 'sync',
    ...(recursionLimit !== undefined && { recursionLimit }),
  }
}

function inputOf(input: unknown): unknown {
  const isState = typeof input === 'object' && input !== null && !('text' in input)
  return isState ? input : { messages: [{ role: 'user', content: textOf(input) }] }
}

/** Keyed by interrupt id: several nodes may ask concurrently. */
async function answersTo(interrupts: readonly Interrupt[], context: RunContext): Promise<Record<string, unknown>> {
  const answers = await Promise.all(interrupts.map(({ value }) => context.ask(questionOf(value))))
  return Object.fromEntries(interrupts.map(({ id }, position) => [id, answers[position]]))
}

function questionOf(value: unknown): { prompt: string; details?: unknown } {
  if (typeof value === 'string') return { prompt: value }
  const { question, prompt, message } = (value ?? {}) as Record<string, unknown>
  const promptText = [question, prompt, message].find((text) => typeof text === 'string')
  return { prompt: promptText ?? 'The graph waits for an answer', details: value ?? null }
}

/** A graph compiled with `interruptBefore` or `interruptAfter` waits for permission to continue. */
async function passBreakpoint(next: readonly string[], context: RunContext): Promise<void> {
  const tool = next.join(', ')
  const { approved, reason } = await askDecision(context, { tool, input: null, prompt: `Go on with ${tool}?` })
  if (!approved) context.reject(reason ?? `${tool} was not approved`)
}
