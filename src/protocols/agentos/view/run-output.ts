/** A run as one object, for non-streaming responses and session listings. */
import { citationsOf, contentOf, calledBy, mediaOf, thoughtOf } from './content.ts'
import { userInputOf } from '../../../core/structure/user-input.ts'
import { families, statusName, statusNames } from '../wire/families.ts'
import { ownMetadata } from '../wire/run-id.ts'
import { messagesOf, textOf } from './messages.ts'
import { metricsOf } from './metrics.ts'
import { toolExecution } from './project-content.ts'
import { pauseOf, workflowPause } from './project-pauses.ts'
import { relayedOutput } from './relay.ts'
import { asText, contentType, type ToolExecution } from '../wire/shapes.ts'
import { rootOf, secondsOf, shownIdOf, type Speaker, type State } from './state.ts'
import { valuesOf } from './persistent-list.ts'

type Output = Readonly<Record<string, unknown>>

/** `RunOutput`, `TeamRunOutput` or `WorkflowRunOutput`, by family. */
export function runOutput(state: State, replaced = false): Output {
  const root = rootOf(state)
  return {
    ...outputOf(state, root),
    ...relayedOutput(state),
    ...(state.userId !== undefined && { user_id: state.userId }),
    ...(state.metadata !== undefined && { metadata: state.metadata }),
    ...(state.status === 'paused' && (root.kind === 'workflow' ? workflowPause(state) : pauseOf(state))),
    ...(state.trimmedBefore !== undefined && { events_trimmed: true }),
    ...lineageOf(state),
    status: statusName(state.status, replaced),
  }
}

const LINEAGE = ['forked_from_run_id', 'forked_from_message_index', 'regenerated_from'] as const

/** The run it continues, and from which message. */
function lineageOf({ metadata }: State): Output {
  const own = ownMetadata(metadata)
  return Object.fromEntries(LINEAGE.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]])))
}

/** Without messages, to keep events small. */
export function memberOutput(state: State, speaker: Speaker): Output {
  const { messages: _messages, ...output } = memberRun(state, speaker)
  return output
}

/** A member's run, within its team's output. */
function memberRun(state: State, speaker: Speaker): Output {
  return { ...outputOf(state, speaker), status: statusNames[speaker.status] }
}

function outputOf(state: State, speaker: Speaker): Output {
  const { kind, idField, nameField } = families[speaker.kind]
  const { outcome, parent, step } = speaker
  // A failed run's content is the error; its earlier text is in the messages.
  const content = outcome?.error?.message ?? contentOf(state, speaker) ?? outcome?.reason
  const common = {
    run_id: shownIdOf(state, speaker.run),
    [idField]: speaker.component,
    [nameField]: speaker.name,
    session_id: state.session,
    ...(parent !== undefined && { parent_run_id: shownIdOf(state, parent) }),
    ...(step !== undefined && { workflow_step_id: step }),
    ...(content !== undefined && { content }),
    content_type: contentType(content),
    ...mediaOf(speaker),
    ...metricsOf(state, speaker),
    created_at: secondsOf(speaker.startedAt),
    ...errorOf(speaker),
  }
  if (kind === 'workflow') return { input: speaker.input, ...common, step_results: valuesOf(speaker.stepOutputs) }
  return { ...common, ...agentOutput(state, speaker) }
}

function agentOutput(state: State, speaker: Speaker): Output {
  const thought = thoughtOf(speaker)
  const tools = toolsOf(state, speaker)
  const members = speaker.kind === 'team' ? calledBy(state, speaker) : []
  return {
    input: { input_content: isConversation(speaker.input) ? inputText(speaker.input) : speaker.input },
    ...(thought !== '' && { reasoning_content: thought }),
    ...citationsOf(speaker),
    ...(speaker.model !== undefined && { model: speaker.model.model, model_provider: speaker.model.provider }),
    messages: messagesOf(speaker),
    ...(tools.length > 0 && { tools }),
    ...(members.length > 0 && { member_responses: members.map((member) => memberRun(state, member)) }),
  }
}

/** Error details besides the message, which is the content. */
function errorOf({ outcome }: Speaker): Output {
  if (outcome?.error === undefined) return {}
  const { code, details } = outcome.error
  const { id } = (details ?? {}) as { id?: unknown }
  return { error_type: code, ...(typeof id === 'string' && { error_id: id }) }
}

function toolsOf(state: State, speaker: Speaker): ToolExecution[] {
  const results = new Map(valuesOf(speaker.results).map((ended) => [ended.call, ended]))
  const calls = new Map(valuesOf(speaker.calls).map((called) => [called.call, called]))
  return [...calls.values()].map((called) => toolExecution(state, speaker, called, results.get(called.call)))
}

const LISTED_WITHOUT = ['agent_name', 'team_name', 'workflow_name', 'input'] as const

/** A list item, with the input as text and times as dates. */
export function listedRun(state: State, replaced = false): Output {
  const output: Record<string, unknown> = { ...runOutput(state, replaced) }
  for (const field of LISTED_WITHOUT) delete output[field]
  const { input } = rootOf(state)
  return {
    ...output,
    run_input: inputText(input),
    run_response_format: output['content_type'] === 'str' ? 'text' : 'json',
    created_at: state.createdAt,
  }
}

const PREVIEW_CHARS_MAX = 280

/** A compact list item with truncated input and output, for frequent polling. */
export function previewedRun(state: State, replaced = false): Output {
  const { kind, run, component, parent } = rootOf(state)
  const { content, run_input: input, user_id: user, status } = listedRun(state, replaced)
  return {
    run_id: shownIdOf(state, run),
    ...(parent !== undefined && { parent_run_id: shownIdOf(state, parent) }),
    [families[kind].idField]: component,
    ...(user !== undefined && { user_id: user }),
    status,
    run_input: asText(input).slice(0, PREVIEW_CHARS_MAX),
    ...(content !== undefined && { content_preview: asText(content).slice(0, PREVIEW_CHARS_MAX) }),
    created_at: state.createdAt,
  }
}

/** Input with files is shown by its text, a conversation by its last user message. */
export function inputText(input: unknown): string {
  const given = userInputOf(input)
  if (given === undefined) return 'null'
  if ('text' in given) return given.text
  const content = given.messages.findLast(({ role }) => role === 'user')?.content ?? ''
  return typeof content === 'string' ? content : textOf(content)
}

function isConversation(input: unknown): boolean {
  return 'messages' in (userInputOf(input) ?? {})
}
