/** Projects text, reasoning, tool calls and other component events to those of agents and teams. */
import type { Usage, LoggedEventOf } from '../../../core/model/event.ts'
import type { TextsStep, TextStretch } from '../../../core/ports/projection.ts'
import { addPiece, addPieces } from '../../../core/structure/text-pieces.ts'
import type { Frame, FrameWriter } from './frame-writer.ts'
import { asText, type ToolExecution } from '../wire/shapes.ts'
import {
  type Media,
  rootOf,
  secondsOf,
  type Speaker,
  speakerOf,
  type State,
  type ToolCalled,
  type ToolEnded,
} from './state.ts'
import { appendTo, newestOf } from './persistent-list.ts'
import { textFields, textFrames } from './text-frames.ts'

/** The speaker of an event. Closes open reasoning when other content starts. */
export function currentSpeaker(writer: FrameWriter): Speaker {
  const speaker = speakerOf(writer.state, writer.event.actor)
  return speaker.reasoning ? endReasoning(writer, speaker) : speaker
}

export function endReasoning(writer: FrameWriter, speaker: Speaker): Speaker {
  if (!speaker.reasoning) return speaker
  writer.writeShared(speaker, 'ReasoningCompleted', { content_type: 'str' })
  return writer.keep({ ...speaker, reasoning: false })
}

export function textDelta(writer: FrameWriter, { index, data }: LoggedEventOf<'text.delta'>): void {
  const speaker = currentSpeaker(writer)
  writer.keep({ ...speaker, texts: addPiece(speaker.texts, index, data.text) })
  writer.writeShared(speaker, 'RunContent', textFields(speaker, data.text))
}

/** Texts of the run's own component. Each produces one frame. */
export function textDeltas(state: State, stretch: TextStretch): TextsStep<State, Frame> | undefined {
  const root = rootOf(state)
  if (state.last < 0 || state.relay !== undefined || root.reasoning) return undefined
  const { first, texts } = stretch
  const after = {
    ...state,
    next: state.next + texts.length,
    last: first + texts.length - 1,
    speakers: state.speakers.with({ ...root, texts: addPieces(root.texts, first, texts) }),
  }
  return { state: after, frames: () => textFrames(state, root, stretch) }
}

export function reasoningStarted(writer: FrameWriter): void {
  beginReasoning(writer)
}

export function reasoningDelta(writer: FrameWriter, { index, data }: LoggedEventOf<'reasoning.delta'>): void {
  const speaker = beginReasoning(writer)
  writer.keep({ ...speaker, thought: addPiece(speaker.thought, index, data.text) })
  writer.writeShared(speaker, 'ReasoningContentDelta', { reasoning_content: data.text })
}

export function reasoningCompleted(writer: FrameWriter): void {
  endReasoning(writer, speakerOf(writer.state, writer.event.actor))
}

function beginReasoning(writer: FrameWriter): Speaker {
  const speaker = speakerOf(writer.state, writer.event.actor)
  if (speaker.reasoning) return speaker
  writer.writeShared(speaker, 'ReasoningStarted')
  return writer.keep({ ...speaker, reasoning: true })
}

export function modelRequested(writer: FrameWriter, { data }: LoggedEventOf<'model.requested'>): void {
  const model = { model: data.model, provider: data.provider ?? '' }
  const speaker = writer.keep({ ...currentSpeaker(writer), model })
  writer.writeShared(speaker, 'ModelRequestStarted', { model: model.model, model_provider: model.provider })
}

export function modelResponded(writer: FrameWriter, { data }: LoggedEventOf<'model.responded'>): void {
  const speaker = currentSpeaker(writer)
  const { model, usage } = data
  writer.keep({ ...speaker, ...(usage !== undefined && { usage: sum(speaker.usage, usage) }) })
  writer.writeShared(speaker, 'ModelRequestCompleted', {
    model,
    model_provider: speaker.model?.provider ?? '',
    ...tokensOf(usage),
  })
}

export function toolCalled(writer: FrameWriter, { index, time, data }: LoggedEventOf<'tool.called'>): void {
  const speaker = currentSpeaker(writer)
  const called: ToolCalled = {
    call: data.call,
    name: data.name,
    input: data.input,
    time,
    recorded: data.key !== undefined,
  }
  writer.keep({ ...speaker, calls: appendTo(speaker.calls, index, called) })
  writer.writeShared(speaker, 'ToolCallStarted', { tool: toolExecution(writer.state, speaker, called) })
}

export function toolProgressed(writer: FrameWriter, { data }: LoggedEventOf<'tool.progressed'>): void {
  writer.custom(currentSpeaker(writer), 'tool.progressed', data.output, { tool_call_id: data.call })
}

export function toolEnded(writer: FrameWriter, event: LoggedEventOf<'tool.completed' | 'tool.failed'>): void {
  const { index, time, data } = event
  const speaker = currentSpeaker(writer)
  const ended: ToolEnded = {
    call: data.call,
    time,
    recorded: data.key !== undefined,
    ...(event.type === 'tool.completed' ? { output: event.data.output } : { error: event.data.error }),
  }
  writer.keep({ ...speaker, results: appendTo(speaker.results, index, ended) })
  const called = newestOf(speaker.calls, ({ call }) => call === data.call) ?? { ...ended, name: data.name, input: {} }
  const tool = toolExecution(writer.state, speaker, called, ended)
  writer.writeShared(speaker, 'ToolCallCompleted', { tool, content: summary(called, ended) })
  if (ended.error !== undefined) writer.writeShared(speaker, 'ToolCallError', { tool, error: ended.error.message })
}

function summary({ name, input, time }: Omit<ToolCalled, 'recorded'>, ended: ToolEnded): string {
  const given = typeof input === 'object' && input !== null ? Object.entries(input) : []
  const args = given.map(([key, value]) => `${key}=${asText(value)}`).join(', ')
  const seconds = (Math.max(0, Date.parse(ended.time) - Date.parse(time)) / 1000).toFixed(4)
  return `${name}(${args.slice(0, SUMMARY_CHARS_MAX)}) completed in ${seconds}s.`
}

const SUMMARY_CHARS_MAX = 500

const DELEGATION = 'delegate_task_to_member'

/** A tool call in AgentOS format. A member's task references its run. */
export function toolExecution(
  state: State,
  speaker: Speaker,
  { call, name, input, time }: Omit<ToolCalled, 'recorded'>,
  ended?: ToolEnded,
): ToolExecution {
  const member = name === DELEGATION ? (input as { member?: unknown } | null)?.member : undefined
  return {
    tool_call_id: call,
    tool_name: name,
    tool_args: typeof member === 'string' ? { member_id: member, ...(input as object) } : (input ?? {}),
    tool_call_error: ended === undefined ? null : ended.error !== undefined,
    result: ended === undefined ? null : ended.error === undefined ? asText(ended.output) : ended.error.message,
    metrics: null,
    child_run_id: ended === undefined || typeof member !== 'string' ? null : childRun(state, speaker, member),
    stop_after_tool_call: false,
    created_at: secondsOf(time),
    requires_confirmation: null,
    confirmed: null,
    confirmation_note: null,
    requires_user_input: null,
    user_input_schema: null,
    user_feedback_schema: null,
    answered: null,
    external_execution_required: null,
    external_execution_silent: null,
    approval_type: null,
    approval_id: null,
  }
}

/** The newest finished run of a member, whose result this is. */
function childRun(state: State, speaker: Speaker, member: string): string | null {
  const own = state.speakers.values().filter(({ parent, component }) => {
    return parent === speaker.run && component === member
  })
  return own.findLast(({ status }) => status !== 'running')?.run ?? own.at(-1)?.run ?? null
}

export function artifactAdded(writer: FrameWriter, { index, data }: LoggedEventOf<'artifact.added'>): void {
  const speaker = currentSpeaker(writer)
  const { artifact, name, mediaType, url, bytes, append } = data
  writer.custom(speaker, 'artifact.added', data)
  // Chunked artifacts are sent as custom events; media lists only hold complete ones.
  if (append === true || (url === undefined && bytes === undefined)) return
  const media: Media = {
    id: artifact,
    mime_type: mediaType,
    ...(url === undefined ? { content: bytes } : { url }),
    ...(name !== undefined && { filename: name }),
  }
  writer.keep({ ...speaker, media: appendTo(speaker.media, index, media) })
}

export function sourceCited(writer: FrameWriter, { index, data }: LoggedEventOf<'source.cited'>): void {
  const { url, title } = data
  const speaker = currentSpeaker(writer)
  const source = { ...(url !== undefined && { url }), ...(title !== undefined && { title }) }
  writer.keep({ ...speaker, sources: appendTo(speaker.sources, index, source) })
  writer.writeShared(speaker, 'RunContent', {
    content_type: 'str',
    reasoning_content: '',
    citations: { urls: [source] },
  })
}

export function stateChanged(
  writer: FrameWriter,
  { type, data }: LoggedEventOf<'state.replaced' | 'state.patched'>,
): void {
  writer.custom(currentSpeaker(writer), type, data)
}

export function customEmitted(writer: FrameWriter, { data }: LoggedEventOf<'custom.emitted'>): void {
  writer.custom(currentSpeaker(writer), data.name, data.value)
}

export function sum(left: Usage | undefined, right: Usage): Usage {
  if (left === undefined) return right
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])] as (keyof Usage)[]
  return Object.fromEntries(keys.map((key) => [key, (left[key] ?? 0) + (right[key] ?? 0)]))
}

/** Token counts by AgentOS names; unknown counts are omitted. */
export function tokensOf(usage: Usage | undefined): Readonly<Record<string, number>> {
  const { inputTokens, outputTokens, totalTokens, reasoningTokens, cachedInputTokens } = usage ?? {}
  const counts = {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: totalTokens,
    reasoning_tokens: reasoningTokens,
    cache_read_tokens: cachedInputTokens,
  }
  return Object.fromEntries(Object.entries(counts).filter((entry): entry is [string, number] => entry[1] !== undefined))
}
