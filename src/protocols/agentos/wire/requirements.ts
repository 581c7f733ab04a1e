/** Converts a paused run's questions to AgentOS requirements. */
import type { Question } from '../../../core/model/event.ts'
import { asText, type RunRequirement, type ToolExecution, type UserFeedback, type UserInputField } from './shapes.ts'
import { secondsOf, type Speaker, type State, type Step } from '../view/state.ts'

type Facts = Readonly<Record<string, unknown>>

export function factsOf({ details }: Question): Facts {
  return typeof details === 'object' && details !== null ? (details as Facts) : {}
}

/** The id of the question's tool call, or else of the question. */
export function callOf(question: Question): string {
  const { call } = factsOf(question)
  return typeof call === 'string' ? call : question.id
}

/** A question as a pending tool call, the only form that clients can answer. */
export function waitingTool(question: Question, askedAt: string): ToolExecution {
  const facts = factsOf(question)
  const { kind } = question
  const asks = kind !== 'approval' && kind !== 'tool'
  return {
    tool_call_id: callOf(question),
    tool_name: typeof facts['tool'] === 'string' ? facts['tool'] : 'get_user_input',
    tool_args: facts['input'] ?? { question: question.prompt },
    tool_call_error: null,
    result: null,
    metrics: null,
    child_run_id: null,
    stop_after_tool_call: false,
    created_at: secondsOf(askedAt),
    requires_confirmation: kind === 'approval' ? true : null,
    confirmed: null,
    confirmation_note: null,
    requires_user_input: asks ? true : null,
    user_input_schema: asks ? inputFields(question) : null,
    user_feedback_schema: kind === 'choice' ? [feedback(question)] : null,
    answered: null,
    external_execution_required: kind === 'tool' ? true : null,
    external_execution_silent: null,
    approval_type: null,
    approval_id: null,
  }
}

export const ANSWER_FIELD = 'answer'

interface ObjectSchema {
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, { readonly type?: unknown; readonly description?: unknown }>>
}

/** Fields of an object answer; undefined for a single value. */
export function propertiesOf({ schema }: Question): ObjectSchema['properties'] {
  const { type, properties } = (schema ?? {}) as ObjectSchema
  return type === 'object' && typeof properties === 'object' && properties !== null ? properties : undefined
}

const FIELD_TYPES: ReadonlyMap<string, string> = new Map([
  ['string', 'str'],
  ['integer', 'int'],
  ['number', 'float'],
  ['boolean', 'bool'],
  ['array', 'list'],
  ['object', 'dict'],
])

function fieldType(type: unknown): string {
  return FIELD_TYPES.get(String(type)) ?? 'str'
}

export function inputFields(question: Question): UserInputField[] {
  const properties = propertiesOf(question)
  if (properties === undefined) {
    const type = (question.schema as ObjectSchema | undefined)?.type
    return [{ name: ANSWER_FIELD, field_type: fieldType(type), description: question.prompt, value: null }]
  }
  return Object.entries(properties).map(([name, { type, description }]) => ({
    name,
    field_type: fieldType(type),
    description: typeof description === 'string' ? description : question.prompt,
    value: null,
  }))
}

function feedback(question: Question): UserFeedback {
  const { choices, multiple } = factsOf(question)
  return {
    question: question.prompt,
    header: null,
    options: (Array.isArray(choices) ? choices : []).map((choice) => ({ label: asText(choice), description: null })),
    multi_select: multiple === true,
    selected_options: null,
  }
}

export function requirement(question: Question, askedAt: string, asker: Speaker | undefined): RunRequirement {
  const tool = waitingTool(question, askedAt)
  return {
    id: question.id,
    created_at: askedAt,
    tool_execution: tool,
    confirmation: null,
    confirmation_note: null,
    user_input_schema: tool.user_input_schema,
    user_feedback_schema: tool.user_feedback_schema,
    external_execution_result: null,
    ...(asker !== undefined && {
      member_agent_id: asker.component,
      member_agent_name: asker.name,
      member_run_id: asker.run,
    }),
  }
}

/** The workflow step of a question, and whether the step or its executor asks. */
export interface Gate {
  readonly question: Question
  readonly step: Pick<Step, 'id' | 'name' | 'index'> & { readonly kind: string }
  readonly executor: Speaker | undefined
}

export function gateOf(state: State, question: Question): Gate {
  const facts = factsOf(question)
  const { step: id, name, index, kind } = facts
  const asker = question.actor === undefined ? undefined : state.speakers.get(question.actor.run)
  if (typeof id === 'string') {
    return {
      question,
      step: {
        id,
        name: typeof name === 'string' ? name : id,
        index: typeof index === 'number' ? index : 0,
        kind: typeof kind === 'string' ? kind : 'function',
      },
      executor: undefined,
    }
  }
  const step = asker?.step === undefined ? undefined : state.steps.get(asker.step)
  return { question, step: step ?? { id: question.id, name: question.id, index: 0, kind: 'function' }, executor: asker }
}

const STEP_TYPES: ReadonlyMap<string, string> = new Map([
  ['function', 'Function'],
  ['parallel', 'Parallel'],
  ['loop', 'Loop'],
  ['condition', 'Condition'],
  ['router', 'Router'],
  ['sequence', 'Steps'],
  ['workflow', 'Workflow'],
])

export function stepRequirement({ question, step, executor }: Gate, askedAt: string): object {
  const { kind, prompt } = question
  const facts = factsOf(question)
  const own = executor === undefined
  return {
    id: question.id,
    step_id: step.id,
    step_name: step.name,
    step_index: step.index,
    step_type: STEP_TYPES.get(step.kind) ?? 'Step',
    requires_confirmation: own && kind === 'approval',
    confirmation_message: own && kind === 'approval' ? prompt : null,
    confirmed: null,
    requires_user_input: own && (kind === 'input' || kind === 'uncertain' || kind === 'diverged'),
    user_input_message: own && kind === 'input' ? prompt : null,
    user_input_schema: own && kind === 'input' ? inputFields(question) : null,
    user_input: null,
    requires_route_selection: own && kind === 'choice',
    available_choices: own && kind === 'choice' ? (facts['choices'] ?? []) : null,
    allow_multiple_selections: facts['multiple'] === true,
    selected_choices: null,
    step_input: facts['input'] ?? null,
    requires_output_review: own && kind === 'review',
    output_review_message: own && kind === 'review' ? prompt : null,
    step_output: kind === 'review' ? (facts['output'] ?? null) : null,
    is_post_execution: kind === 'review',
    requires_executor_input: !own,
    executor_requirements: own ? null : [requirement(question, askedAt, executor)],
    executor_id: executor?.component ?? null,
    executor_name: executor?.name ?? null,
    executor_run_id: executor?.run ?? null,
    executor_type: executor?.kind ?? null,
  }
}
