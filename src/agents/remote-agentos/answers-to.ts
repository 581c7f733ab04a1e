/** Turns a paused AgentOS run's requirements into questions, and the answers into its format. */
import { type RunContext, WorkError } from '../../core/ports/component.ts'
import { askDecision } from '../shared/approval.ts'
import type { RemoteAgentOsKind } from './client.ts'
import type { RemoteEvent, Requirement, Tool } from './wire.ts'

/** The form fields that continue the run. */
export async function answersTo(
  { tools = [], requirements = [] }: Pick<RemoteEvent, 'tools' | 'requirements'>,
  kind: RemoteAgentOsKind,
  context: RunContext,
): Promise<Readonly<Record<string, string>>> {
  if (kind === 'workflow')
    throw new WorkError({ code: 'unsupported', message: 'a remote workflow that pauses cannot be answered' })
  if (kind === 'agent') {
    const answered = await Promise.all(tools.map(async (tool) => ({ ...tool, ...(await answer(tool, context)) })))
    return { tools: JSON.stringify(answered) }
  }
  return { requirements: JSON.stringify(await Promise.all(requirements.map((one) => resolve(one, context)))) }
}

async function resolve(requirement: Requirement, context: RunContext): Promise<object> {
  const tool = requirement.tool_execution ?? {}
  const given = await answer(tool, context)
  const { confirmed, confirmation_note, result } = given as {
    confirmed?: boolean
    confirmation_note?: string
    result?: string
  }
  return {
    ...requirement,
    tool_execution: { ...tool, ...given },
    ...(confirmed !== undefined && { confirmation: confirmed }),
    ...(confirmation_note !== undefined && { confirmation_note }),
    ...(result !== undefined && { external_execution_result: result }),
  }
}

/** The updated fields of a waiting tool call; empty for others. */
async function answer(tool: Tool, context: RunContext): Promise<object> {
  const name = tool.tool_name ?? 'tool'
  const about = { tool: name, input: tool.tool_args ?? null, ...(tool.tool_call_id && { call: tool.tool_call_id }) }
  if (tool.requires_confirmation === true && typeof tool.confirmed !== 'boolean') {
    const { approved, reason } = await askDecision(context, about)
    return { confirmed: approved, ...(reason !== undefined && { confirmation_note: reason }) }
  }
  if (tool.requires_user_input === true) return { ...(await askFields(tool, name, about, context)), answered: true }
  if (tool.external_execution_required === true && (tool.result ?? null) === null) {
    const value = await context.ask({ kind: 'tool', prompt: `What is the result of ${name}?`, details: about })
    return { result: typeof value === 'string' ? value : JSON.stringify(value ?? null) }
  }
  return {}
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['str', 'string'],
  ['int', 'integer'],
  ['float', 'number'],
  ['bool', 'boolean'],
])

async function askFields(tool: Tool, name: string, details: object, context: RunContext): Promise<object> {
  const fields = tool.user_input_schema ?? []
  const properties = fields.map(({ name: field, field_type = '', description }) => [
    field,
    { ...(TYPES.has(field_type) && { type: TYPES.get(field_type) }), ...(description && { description }) },
  ])
  const given = await context.ask({
    kind: 'input',
    prompt: `${name} needs: ${fields.map(({ name: field }) => field).join(', ')}`,
    schema: { type: 'object', properties: Object.fromEntries(properties) },
    details,
  })
  const values = (typeof given === 'object' ? given : null) as Record<string, unknown> | null
  return {
    user_input_schema: fields.map((field) => ({ ...field, value: values?.[field.name] ?? field.value ?? null })),
  }
}
