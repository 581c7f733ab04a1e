/** A team: a model leads members, which are components of any kind, other teams included. */
import type { LanguageModel, ToolSet } from 'ai'
import type { Component, Emission, RunContext } from '../../core/agent.ts'
import { type CommonDefinition, commonOf } from '../shared/component.ts'
import { CONCURRENCY, MAX_STEPS } from '../model/agent.ts'
import { checkInput, messagesOf, type ModelInput } from '../model/input.ts'
import { loop, type LoopOptions } from '../model/loop.ts'
import type { ModelSettings } from '../model/request.ts'
import { RETRIES, RETRY_DELAY_MS } from '../model/retry.ts'
import { loadSdk } from '../model/sdk.ts'
import { toolboxOf } from '../model/tools.ts'
import { answersOf, withAnswers } from './broadcast.ts'
import { DELEGATE, delegateTool } from './delegation.ts'

/**
 * `coordinate`: the leader gives tasks to members, as often as it needs to, and answers. `route`: it picks a member, whose answer
 * is the team's. `broadcast`: all members get the task at once, and the leader answers with what they said.
 */
export type TeamMode = 'coordinate' | 'route' | 'broadcast'

export interface TeamDefinition extends CommonDefinition {
  readonly members: readonly Component[]
  readonly mode?: TeamMode
  /** The leader's. */
  readonly model: LanguageModel
  readonly instructions?: string
  /** Tools of the leader's own. */
  readonly tools?: ToolSet
  readonly settings?: ModelSettings
  /** Requests to the leader's model, retries apart, after which the team fails. */
  readonly maxSteps?: number
  /** Tasks that the leader may give to members in one run. */
  readonly maxDelegations?: number
  /** Members that work at once. */
  readonly concurrency?: number
  readonly modelRetries?: number
  readonly retryDelayMs?: number
}

export const MAX_DELEGATIONS = 20

export function team(definition: TeamDefinition): Component<ModelInput> {
  const { id, members } = definition
  const ids = new Set(members.map((member) => member.id))
  if (ids.size === 0 || ids.size < members.length) throw new TypeError(`team ${id} needs members with ids of their own`)
  return {
    ...commonOf(definition),
    kind: 'team',
    parse: checkInput,
    run: (input, context) => run(definition, input, context),
  }
}

async function* run(
  definition: TeamDefinition,
  input: ModelInput,
  context: RunContext,
): AsyncGenerator<Emission, void, void> {
  const { members, mode = 'coordinate', concurrency = CONCURRENCY } = definition
  const sdk = await loadSdk()
  const common = { sdk, ...leader(definition), concurrency }
  const own = await toolboxOf(sdk, definition.tools ?? {})
  if (mode === 'broadcast') {
    const answers = await answersOf(context, members, input, concurrency)
    return yield* loop(context, { ...common, toolbox: own, messages: withAnswers(messagesOf(input), answers) })
  }
  const { maxDelegations = MAX_DELEGATIONS } = definition
  const { declared, tool, answer } = await delegateTool(sdk, { members, mode, maxDelegations })
  yield* loop(context, {
    ...common,
    messages: messagesOf(input),
    toolbox: {
      declared: { ...own.declared, [DELEGATE]: declared },
      tools: new Map([...own.tools, [DELEGATE, tool]]),
    },
    ...(mode === 'route' && { settle: answer }),
  })
}

function leader(
  definition: TeamDefinition,
): Pick<LoopOptions, 'model' | 'instructions' | 'settings' | 'maxSteps' | 'retry'> {
  const { model, settings, maxSteps = MAX_STEPS, modelRetries, retryDelayMs } = definition
  return {
    model,
    instructions: instructionsOf(definition),
    maxSteps,
    retry: { retries: modelRetries ?? RETRIES, delayMs: retryDelayMs ?? RETRY_DELAY_MS },
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
