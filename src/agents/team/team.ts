/** Team: a model leads members, which are components of any kind, including teams. */
import type { FlexibleSchema, LanguageModel } from 'ai'
import type { Component, Emission, RunContext } from '../../core/ports/component.ts'
import {
  aCount,
  aList,
  anAmount,
  anObject,
  anything,
  aString,
  oneOf,
  type OptionRules,
} from '../../core/model/check-options.ts'
import { aModel, historyRule, toolsRule } from '../model/rules.ts'
import { checkDefinition, type CommonDefinition, commonOf, commonRules } from '../shared/component.ts'
import { callerOptionsOf, callerTools, withCaller } from '../model/caller-options.ts'
import { type AgentHistory, conversation } from '../model/history.ts'
import { modelInput, type ModelInput } from '../model/input.ts'
import { CONCURRENCY, loop, type LoopOptions, MAX_STEPS } from '../model/loop.ts'
import { listedOutput } from '../model/listed-output.ts'
import { describeModel } from '../model/model-name.ts'
import type { ModelSettings } from '../model/settings.ts'
import { RETRIES, RETRY_DELAY_MS } from '../model/retry.ts'
import { loadSdk } from '../model/sdk.ts'
import { modelInUse } from '../model/scripted/test-model.ts'
import { type AgentTools, openTools } from '../model/tools/tool-sources.ts'
import { type Toolbox, toolboxOf } from '../model/tools/tools.ts'
import { resultsOf, withResults } from './broadcast.ts'
import { DELEGATE, delegateTool } from './delegation.ts'

/**
 * `coordinate`: the leader delegates tasks as often as needed and responds itself. `route`: it selects one member, whose result is
 * the team's. `broadcast`: all members get the task at once, and the leader combines their results.
 */
export type TeamMode = 'coordinate' | 'route' | 'broadcast'

/** Options of `team`. */
export interface TeamDefinition extends Omit<CommonDefinition, 'output'> {
  readonly members: readonly Component[]
  /** Default: `coordinate`. */
  readonly mode?: TeamMode
  /** The leader's model. */
  readonly model: LanguageModel
  /** The leader's system message. Default: none. */
  readonly instructions?: string
  /** Requires the leader's response to be JSON of this schema. The run's output is the parsed value. Default: text. */
  readonly output?: FlexibleSchema
  /** The leader's own tools. Default: none. */
  readonly tools?: AgentTools
  /** Default: the model's own. */
  readonly settings?: ModelSettings
  /** Maximum requests to the leader's model, not counting retries. Default: 20. */
  readonly maxSteps?: number
  /** Maximum delegated tasks in one run. Default: 20. */
  readonly maxDelegations?: number
  /** Members that work concurrently. Default: 8. */
  readonly maxConcurrentMembers?: number
  /** How often a failed or interrupted request to the leader's model is retried; 0: never. Default: 2. */
  readonly retries?: number
  /** Delay before the first retry; doubles up to 30 seconds. Default: 500. */
  readonly retryDelayMs?: number
  /** Conversation history for the leader. Default: the session's earlier runs of this team. */
  readonly history?: AgentHistory
}

const MAX_DELEGATIONS = 20

const RULES: OptionRules<TeamDefinition> = {
  ...commonRules,
  members: aList,
  mode: oneOf('coordinate', 'route', 'broadcast'),
  model: aModel,
  instructions: aString,
  tools: toolsRule,
  output: anything,
  maxSteps: aCount,
  maxDelegations: aCount,
  maxConcurrentMembers: aCount,
  retries: anAmount,
  retryDelayMs: anAmount,
  settings: anObject,
  history: historyRule,
}

/**
 * A team: a model leads members, which are components of any kind, including teams.
 *
 * @example
 * ```ts
 * team({ id: 'desk', members: [researcher, writer], model: 'openai/gpt-5' })
 * ```
 */
export function team(definition: TeamDefinition): Component<ModelInput> {
  checkDefinition('team', definition, RULES, ['members', 'model'])
  const { id, members, output, ...rest } = definition
  const ids = new Set(members.map((member) => member.id))
  if (ids.size === 0 || ids.size < members.length)
    throw new TypeError(`team ${id} needs at least one member, each with a unique id`)
  return {
    ...commonOf({ id, input: modelInput, ...rest }),
    ...listedOutput(output),
    kind: 'team',
    info: {
      model: describeModel(definition.model),
      members,
      mode: definition.mode ?? 'coordinate',
    },
    run: (input, context) => run(definition, input, context),
  }
}

async function* run(
  definition: TeamDefinition,
  input: ModelInput,
  context: RunContext,
): AsyncGenerator<Emission, unknown, void> {
  const sdk = await loadSdk()
  const caller = callerOptionsOf(input)
  const own = leader(definition)
  const messages = await conversation(context, input, definition.history)
  const { tools, close } = await openTools(definition.tools, context)
  try {
    const toolbox = await toolboxOf(sdk, { ...callerTools(sdk, caller), ...tools })
    const options = {
      sdk,
      ...own,
      ...withCaller(sdk, caller, own),
      concurrency: definition.maxConcurrentMembers ?? CONCURRENCY,
      messages,
      toolbox,
    }
    return yield* definition.mode === 'broadcast'
      ? broadcast(definition, input, context, options)
      : delegate(definition, context, options)
  } finally {
    await close()
  }
}

async function* broadcast(
  { members }: TeamDefinition,
  input: ModelInput,
  context: RunContext,
  options: LoopOptions,
): AsyncGenerator<Emission, unknown, void> {
  const answers = await resultsOf(context, members, input, options.concurrency)
  return yield* loop(context, { ...options, messages: withResults(options.messages, answers) })
}

async function* delegate(
  { members, mode = 'coordinate', maxDelegations = MAX_DELEGATIONS }: TeamDefinition,
  context: RunContext,
  options: LoopOptions,
): AsyncGenerator<Emission, unknown, void> {
  const way = mode === 'route' ? 'route' : 'coordinate'
  const { declared, tool, answer } = await delegateTool(options.sdk, { members, mode: way, maxDelegations })
  const own = options.toolbox
  const toolbox: Toolbox = {
    declared: { ...own.declared, [DELEGATE]: declared },
    tools: new Map([...own.tools, [DELEGATE, tool]]),
  }
  return yield* loop(context, { ...options, toolbox, ...(way === 'route' && { settle: answer }) })
}

function leader(
  definition: TeamDefinition,
): Pick<LoopOptions, 'model' | 'instructions' | 'output' | 'settings' | 'maxSteps' | 'retry'> {
  const { model, output, settings, maxSteps = MAX_STEPS, retries = RETRIES, retryDelayMs } = definition
  return {
    model: modelInUse(model),
    instructions: instructionsOf(definition),
    maxSteps,
    retry: { retries, delayMs: retryDelayMs ?? RETRY_DELAY_MS },
    ...(output !== undefined && { output }),
    ...(settings !== undefined && { settings }),
  }
}

const TASKS: Readonly<Record<TeamMode, string>> = {
  coordinate: `You lead a team. Give tasks to its members with the tool ${DELEGATE}, several at once where that helps, and answer with what they find.`,
  route: `You lead a team. Pick the member that fits best and give it the task with the tool ${DELEGATE}; its answer goes to the user as it is.`,
  broadcast: 'You lead a team. Each member has answered the same task; make one answer of theirs.',
}

function instructionsOf({ members, mode = 'coordinate', instructions }: TeamDefinition): string {
  const list = members.map(({ id, description, name }) => `- ${id}: ${description ?? name ?? 'no description'}`)
  return [TASKS[mode], `Members:\n${list.join('\n')}`, ...(instructions === undefined ? [] : [instructions])].join(
    '\n\n',
  )
}
