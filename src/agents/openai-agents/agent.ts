/** Component for an agent of the OpenAI Agents SDK: handoffs are steps, approvals are questions. */
import type { Agent, AgentInputItem, Runner, RunToolApprovalItem } from '@openai/agents'
import { type Component, createEvent, type Emission, type RunContext } from '../../core/ports/component.ts'
import { optionalPackage } from '../../core/runtime/optional-package.ts'
import { askDecision } from '../shared/approval.ts'
import { aCount, aFunction, anObject, type OptionRules } from '../../core/model/check-options.ts'
import { checkDefinition, type CommonDefinition, commonOf, commonRules } from '../shared/component.ts'
import { leg } from '../shared/leg.ts'
import { textOf } from '../shared/text-of.ts'
import { shownEvents } from './events.ts'
import { parseToolArguments } from './parse-tool-arguments.ts'

/** Generic parameters are the user's concern. */
// oxlint-disable-next-line typescript/no-explicit-any
export type OpenAiSdkAgent = Agent<any, any>

/** Options of `openAiAgent`. */
export interface OpenAiAgentDefinition extends CommonDefinition {
  readonly agent: OpenAiSdkAgent
  /** Maps the run's input. Default: the input as text. */
  readonly mapInput?: (input: unknown, context: RunContext) => string | AgentInputItem[]
  /** The SDK's context for tools. Must be JSON for a run to survive a pause. Default: none. */
  readonly context?: (context: RunContext) => unknown
  /** Default: the SDK's own. */
  readonly maxTurns?: number
  /** A configured SDK runner. Default: a new one. */
  readonly runner?: Runner
}

type Sdk = typeof import('@openai/agents')

/** Result of the work up to a question or the end, as recorded in the log. */
interface LegEnd {
  /** The SDK's serialized state of a waiting run. */
  readonly state?: string
  readonly waiting: readonly PendingApproval[]
  readonly output: unknown
}

interface PendingApproval {
  readonly tool: string
  readonly input: unknown
  readonly call?: string
}

/** Maximum answered questions in one run. */
const LEGS_MAX = 100

const RULES: OptionRules<OpenAiAgentDefinition> = {
  ...commonRules,
  agent: anObject,
  mapInput: aFunction,
  context: aFunction,
  maxTurns: aCount,
  runner: anObject,
}

/**
 * Runs the agent unchanged from one question to the next. The log does not know what happened in between, so after a crash the run
 * fails, unless the definition says `resume`, which repeats the work since the last question.
 */
export function openAiAgent(definition: OpenAiAgentDefinition): Component {
  checkDefinition('openAiAgent', definition, RULES, ['agent'])
  return {
    ...commonOf({ recovery: 'fail', ...definition }),
    kind: 'agent',
    run: (input, context) => run(definition, input, context),
  }
}

async function* run(
  definition: OpenAiAgentDefinition,
  input: unknown,
  context: RunContext,
): AsyncGenerator<Emission, void, void> {
  const user = 'an agent of the OpenAI Agents SDK'
  const sdk = await optionalPackage(
    user,
    '@openai/agents',
    () => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ '@openai/agents'),
  )
  const first = definition.mapInput === undefined ? textOf(input) : definition.mapInput(input, context)
  let decided: DecidedApproval | undefined
  for (let turn = 1; turn <= LEGS_MAX; turn++) {
    const id = `${context.runId}/${turn}`
    const runInput = decided
    const end: LegEnd = await leg(context, 'agent', () => streamLeg(sdk, definition, context, id, runInput ?? first))
    if (end.state === undefined) return yield createEvent('run.completed', { output: end.output })
    const decisions = await Promise.all(end.waiting.map((waiting) => askDecision(context, waiting)))
    decided = { state: end.state, decisions }
  }
  throw new Error(`the agent asked for approval more than ${LEGS_MAX} times in one run`)
}

interface DecidedApproval {
  readonly state: string
  readonly decisions: readonly { readonly approved: boolean; readonly reason?: string }[]
}

async function* streamLeg(
  sdk: Sdk,
  { agent, runner = new sdk.Runner(), maxTurns, context: contextOf }: OpenAiAgentDefinition,
  context: RunContext,
  id: string,
  runInput: DecidedApproval | string | AgentInputItem[],
): AsyncGenerator<Emission, LegEnd, void> {
  const { signal } = context
  const start =
    typeof runInput === 'object' && 'state' in runInput ? await restoreState(sdk, agent, runInput) : runInput
  const stream = await runner.run(agent, start, {
    stream: true,
    signal,
    context: contextOf?.(context),
    ...(maxTurns !== undefined && { maxTurns }),
  })
  yield* shownEvents(stream, id, stream.currentAgent?.name ?? agent.name)
  await stream.completed
  // The SDK ends an aborted stream as if it were complete.
  signal.throwIfAborted()
  if (stream.interruptions.length === 0) return { waiting: [], output: (stream.finalOutput as unknown) ?? null }
  return { state: stream.state.toString(), waiting: stream.interruptions.map(waitingOf), output: null }
}

/** In the order in which they were requested. */
async function restoreState(sdk: Sdk, agent: OpenAiSdkAgent, { state, decisions }: DecidedApproval): Promise<RunState> {
  const restoredState = await sdk.RunState.fromString(agent, state)
  for (const [position, item] of restoredState.getInterruptions().entries()) {
    const { approved, reason } = decisions[position] ?? { approved: false }
    if (approved) restoredState.approve(item)
    else restoredState.reject(item, reason === undefined ? {} : { message: reason })
  }
  return restoredState
}

type RunState = Awaited<ReturnType<Sdk['RunState']['fromString']>>

function waitingOf(item: RunToolApprovalItem): PendingApproval {
  const { rawItem } = item
  return {
    tool: item.name ?? rawItem.type,
    input: parseToolArguments(item.arguments),
    ...('callId' in rawItem && { call: rawItem.callId }),
  }
}
