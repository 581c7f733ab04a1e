/** The tool with which a leader delegates a task to a member. */
import type { Tool } from 'ai'
import type { Component } from '../../core/ports/component.ts'
import type { CallResults } from '../model/tools/calls.ts'
import type { Sdk } from '../model/sdk.ts'
import { check, type LoopTool } from '../model/tools/tools.ts'
import { callMember } from './members.ts'

export const DELEGATE = 'delegate_task_to_member'

export interface DelegationOptions {
  readonly members: readonly Component[]
  readonly mode: 'coordinate' | 'route'
  readonly maxDelegations: number
}

export interface Delegation {
  /** Declaration for the model. */
  readonly declared: Tool
  readonly tool: LoopTool
  /** The result of the chosen member, once there is one. */
  readonly answer: (results: CallResults['results']) => { readonly output: unknown } | undefined
}

export async function delegateTool(
  sdk: Sdk,
  { members, mode, maxDelegations }: DelegationOptions,
): Promise<Delegation> {
  const { z } = await import('zod')
  const byId = new Map(members.map((member) => [member.id, member]))
  const inputSchema = z.object({
    member: z.enum(members.map(({ id }) => id)).describe('Id of the member'),
    task: z.string().min(1).describe('The task for the member, with everything that it needs to know'),
  })
  const description = 'Gives a task to a member of the team and returns its answer.'
  const admit = mode === 'route' ? oneAtATime(maxDelegations) : limitDelegations(maxDelegations)
  const tool: LoopTool = {
    // The member's work is in the log under its own actor, so an interrupted call resumes.
    idempotent: true,
    approval: 'never',
    check: (input) => check(sdk, inputSchema, input, `invalid input for tool ${DELEGATE}`),
    admit,
    execute(input, { context }) {
      const { member, task } = input as { member: string; task: string }
      return callMember(context, byId.get(member)!, task)
    },
  }
  const declared = { description, inputSchema: sdk.jsonSchema(sdk.asSchema(inputSchema).jsonSchema) }
  return { declared, tool, answer: firstResult }
}

function limitDelegations(max: number): NonNullable<LoopTool['admit']> {
  let delegations = 0
  return () => {
    if (delegations >= max) return `no further task can be delegated: the maximum of ${max} is reached`
    delegations++
    return undefined
  }
}

/** Allows one member per model response; another only after a failure. */
function oneAtATime(max: number): NonNullable<LoopTool['admit']> {
  const within = limitDelegations(max)
  let last = 0
  return (turn) => {
    if (turn === last) return 'only one member can answer'
    const refusal = within(turn)
    if (refusal === undefined) last = turn
    return refusal
  }
}

function firstResult(results: CallResults['results']): { readonly output: unknown } | undefined {
  const [, outcome] = results.find(([name, { state }]) => name === DELEGATE && state === 'done') ?? []
  return outcome?.state === 'done' ? { output: outcome.value } : undefined
}
