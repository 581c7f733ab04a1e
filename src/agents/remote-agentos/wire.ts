/** AgentOS wire types: the fields of its events and runs that the adapter reads. */

/** A tool call's state, as AgentOS sends it and expects it back. */
export interface Tool {
  readonly tool_call_id?: string | null
  readonly tool_name?: string | null
  readonly tool_args?: unknown
  readonly tool_call_error?: boolean | null
  readonly result?: unknown
  readonly requires_confirmation?: boolean | null
  readonly confirmed?: boolean | null
  readonly requires_user_input?: boolean | null
  readonly user_input_schema?: readonly InputField[] | null
  readonly external_execution_required?: boolean | null
}

export interface InputField {
  readonly name: string
  readonly field_type?: string
  readonly description?: string | null
  readonly value?: unknown
}

/** A requirement of a paused team. */
export interface Requirement {
  readonly tool_execution?: Tool | null
}

/** An event of an agent, a team (names start with `Team`) or a workflow. */
export interface RemoteEvent {
  readonly event: string
  readonly event_index?: number
  readonly run_id?: string
  readonly agent_name?: string
  readonly team_name?: string
  readonly content?: unknown
  readonly reasoning_content?: string
  readonly tool?: Tool
  readonly tools?: readonly Tool[]
  readonly requirements?: readonly Requirement[]
  readonly error?: unknown
  readonly error_type?: string
  readonly reason?: string
  readonly step_id?: string
  readonly step_name?: string
  readonly model?: string
  readonly model_provider?: string
  readonly input_tokens?: number
  readonly output_tokens?: number
  readonly total_tokens?: number
  readonly reasoning_tokens?: number
  readonly cache_read_tokens?: number
}

/** A run as it is stored. */
export interface RemoteRun extends Omit<RemoteEvent, 'event'> {
  readonly status?: string
}

/** The final event of a stored run; undefined while it is running. */
export function endOf(run: RemoteRun): RemoteEvent | undefined {
  const names: Readonly<Record<string, string>> = {
    COMPLETED: 'RunCompleted',
    ERROR: 'RunError',
    CANCELLED: 'RunCancelled',
    PAUSED: 'RunPaused',
  }
  const event = names[run.status ?? '']
  if (event === undefined) return undefined
  const { event_index: _index, ...rest } = run
  return { ...rest, event }
}
