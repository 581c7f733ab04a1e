/** Objects that several AgentOS responses share. */

/** Keeps nulls, as clients expect. */
export interface ToolExecution {
  readonly tool_call_id: string
  readonly tool_name: string
  readonly tool_args: unknown
  readonly tool_call_error: boolean | null
  readonly result: string | null
  readonly metrics: null
  readonly child_run_id: string | null
  readonly stop_after_tool_call: false
  readonly created_at: number
  readonly requires_confirmation: boolean | null
  readonly confirmed: boolean | null
  readonly confirmation_note: string | null
  readonly requires_user_input: boolean | null
  readonly user_input_schema: readonly UserInputField[] | null
  readonly user_feedback_schema: readonly UserFeedback[] | null
  readonly answered: boolean | null
  readonly external_execution_required: boolean | null
  readonly external_execution_silent: null
  readonly approval_type: null
  readonly approval_id: null
}

export interface UserInputField {
  readonly name: string
  readonly field_type: string
  readonly description: string | null
  readonly value: unknown
}

export interface UserFeedback {
  readonly question: string
  readonly header: string | null
  readonly options: readonly { readonly label: string; readonly description: string | null }[]
  readonly multi_select: boolean
  readonly selected_options: readonly string[] | null
}

export interface RunRequirement {
  readonly id: string
  readonly created_at: string
  readonly tool_execution: ToolExecution
  readonly confirmation: boolean | null
  readonly confirmation_note: string | null
  readonly user_input_schema: readonly UserInputField[] | null
  readonly user_feedback_schema: readonly UserFeedback[] | null
  readonly external_execution_result: string | null
  readonly member_agent_id?: string
  readonly member_agent_name?: string
  readonly member_run_id?: string
}

export interface StepOutput {
  readonly content: unknown
  readonly step_name: string
  readonly step_id: string
  readonly step_type: string
  readonly executor_type: string | null
  readonly executor_name: string | null
  readonly step_run_id: string | null
  readonly images: null
  readonly videos: null
  readonly audio: null
  readonly files: null
  readonly metrics: null
  readonly success: boolean
  readonly error: string | null
  readonly stop: false
  readonly is_paused: false
  readonly steps?: readonly StepOutput[]
}

/** `content_type` of a value: its Python class name. */
export function contentType(content: unknown): string {
  if (content === null || content === undefined || typeof content === 'string') return 'str'
  if (typeof content === 'number') return Number.isInteger(content) ? 'int' : 'float'
  if (typeof content === 'boolean') return 'bool'
  return Array.isArray(content) ? 'list' : 'dict'
}

/** A value as text, because AgentOS tool results are strings. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}
