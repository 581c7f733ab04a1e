/** Projects tool calls: streamed arguments, progress, result. */
import { toolCallId } from '../../../core/structure/question-tool-call.ts'
import type { LoggedEventOf } from '../../../core/model/event.ts'
import { toCallId, toMessageId } from '../wire/ids.ts'
import type { AgentWriter } from './agent-writer.ts'
import { messagesOf } from './messages.ts'
import type { OpenCall } from './state.ts'
type ToolEvent = LoggedEventOf<`tool.${'drafted' | 'called' | 'progressed' | 'completed' | 'failed'}`>

export function draftTool(writer: AgentWriter, event: LoggedEventOf<'tool.drafted'>): void {
  const id = idOf(event)
  if (writer.state.calls.get(id)?.isDrafted === false) return
  startCall(writer, id, { name: event.data.name, recorded: false })
  addArguments(writer, id, event.data.delta)
}

export function callTool(writer: AgentWriter, event: LoggedEventOf<'tool.called'>): void {
  const { name, input, key } = event.data
  addCall(writer, idOf(event), { name, input, recorded: key !== undefined })
}

export interface CallInput {
  readonly name: string
  readonly input?: unknown
  readonly recorded: boolean
  /** Key of the actor that made the call. Default: the event's actor. */
  readonly actor?: string
}

/** Shows a call with all its arguments, unless it was shown already. */
export function addCall(writer: AgentWriter, id: string, { input, ...call }: CallInput): void {
  const known = writer.state.calls.get(id)
  if (known?.isDrafted === false) return
  startCall(writer, id, call)
  const args = JSON.stringify(input ?? {})
  if (known === undefined) addArguments(writer, id, args)
  else if (!isSameJson(known.args, args)) replaceArguments(writer, id, args)
  endArguments(writer, id, call.recorded)
}

export function showProgress(writer: AgentWriter, event: LoggedEventOf<'tool.progressed'>): void {
  const value = { toolCallId: idOf(event), output: event.data.output ?? null }
  writer.show({ type: 'CUSTOM', name: 'holdfast.tool.progress', value, ...writer.by() })
}

export function endTool(
  writer: AgentWriter,
  event: LoggedEventOf<'tool.completed'> | LoggedEventOf<'tool.failed'>,
): void {
  const id = idOf(event)
  const { name, key } = event.data
  const recorded = key !== undefined
  addCall(writer, id, { name, recorded })
  if (writer.state.calls.get(id)!.isAnswered !== true) {
    const { data } = event
    addResult(writer, id, { content: 'error' in data ? data.error.message : textOf(data.output), recorded })
  }
  writer.put('calls', id, undefined)
}

/** Shows the result that the client gave for a call. */
export function answerCall(writer: AgentWriter, id: string, answer: unknown): void {
  const call = writer.state.calls.get(id)
  if (call === undefined) return
  addResult(writer, id, { content: textOf(answer), recorded: false })
  writer.put('calls', id, { ...call, isAnswered: true })
}

interface CallResult {
  readonly content: string
  readonly recorded: boolean
}

function addResult(writer: AgentWriter, id: string, { content, recorded }: CallResult): void {
  const { run, index } = writer.event
  const { actor } = writer.state.calls.get(id)!
  const by = writer.by(actor)
  // One event can answer several calls.
  const messageId = `${toMessageId(run, index)}:${id.slice(run.length + 1)}`
  writer.show({ type: 'TOOL_CALL_RESULT', messageId, toolCallId: id, content, role: 'tool', ...by })
  const subagent = by.subagentRunId === undefined ? {} : { subagent: by.subagentRunId }
  writer.keep({ kind: 'result', id: messageId, call: id, content, ...subagent }, { actor, recorded })
}

/** Ends calls with incomplete arguments. They have no result yet. */
export function closeCalls(writer: AgentWriter, isConcerned: (call: OpenCall) => boolean): void {
  for (const [id, call] of writer.state.calls)
    if (call.isDrafted && isConcerned(call)) endArguments(writer, id, call.recorded)
}

function idOf({ run, actor, data }: ToolEvent): string {
  return toCallId(run, toolCallId(run, actor, data.call))
}

function startCall(
  writer: AgentWriter,
  id: string,
  { name, recorded, actor = writer.actor }: Omit<CallInput, 'input'>,
): void {
  if (writer.state.calls.has(id)) return
  writer.closeText(actor)
  writer.put('calls', id, { name, actor, isDrafted: true, args: '', log: writer.event.index, recorded })
  writer.show({ type: 'TOOL_CALL_START', toolCallId: id, toolCallName: name, ...writer.by(actor) })
  keepCall(writer, id, '')
}

function addArguments(writer: AgentWriter, id: string, delta: string): void {
  if (delta === '') return
  const call = writer.state.calls.get(id)!
  writer.put('calls', id, { ...call, args: call.args + delta })
  writer.show({ type: 'TOOL_CALL_ARGS', toolCallId: id, delta, ...writer.by(call.actor) })
  keepCall(writer, id, delta)
}

/** The call has other arguments than the model streamed, and streamed arguments cannot be taken back: replaces the whole call. */
function replaceArguments(writer: AgentWriter, id: string, args: string): void {
  writer.put('calls', id, { ...writer.state.calls.get(id)!, args })
  keepCall(writer, id, args, true)
  writer.show({ type: 'MESSAGES_SNAPSHOT', messages: messagesOf(writer.state.pieces) })
}

function endArguments(writer: AgentWriter, id: string, recorded: boolean): void {
  const call = writer.state.calls.get(id)!
  writer.put('calls', id, { ...call, isDrafted: false, recorded })
  writer.show({ type: 'TOOL_CALL_END', toolCallId: id, ...writer.by(call.actor) })
}

function keepCall(writer: AgentWriter, id: string, text: string, isReplaced = false): void {
  const { name, actor, recorded } = writer.state.calls.get(id)!
  const { subagentRunId: subagent } = writer.by(actor)
  const piece = { kind: 'call', id, name, text, ...(isReplaced && { replaces: true }) } as const
  writer.keep(subagent === undefined ? piece : { ...piece, subagent }, { actor, recorded })
}

/** The streamed arguments may differ in white space. */
function isSameJson(draft: string, json: string): boolean {
  if (draft === json) return true
  try {
    return JSON.stringify(JSON.parse(draft)) === json
  } catch {
    return false // the model's output was cut off, and its call was repaired
  }
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}
