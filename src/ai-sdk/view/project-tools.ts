/** Projects tool calls: streamed input, preliminary output, result. */
import type { LoggedEventOf } from '../../core/model/event.ts'
import type { ChatWriter, EmitOptions } from './chat-writer.ts'
import { toolCallId } from '../../core/structure/question-tool-call.ts'
import type { OpenTool } from './state.ts'

export function draftTool(writer: ChatWriter, { data, run, actor, index }: LoggedEventOf<'tool.drafted'>): void {
  const id = toolCallId(run, actor, data.call)
  if (!writer.state.tools.has(id)) {
    if (writer.isOwn) {
      writer.closeText()
      writer.beginDueStep()
    }
    writer.setTool(id, { state: 'drafting', step: writer.state.step, createdAt: index })
    writer.emit({ type: 'tool-input-start', ...headOf(writer, id, data.name) })
  }
  const { state, step } = writer.state.tools.get(id)!
  if (state === 'drafting' && data.delta !== '')
    writer.emit({ type: 'tool-input-delta', toolCallId: id, inputTextDelta: data.delta }, { step })
}

export function callTool(writer: ChatWriter, { data, run, actor }: LoggedEventOf<'tool.called'>): void {
  const { call, name, input, key } = data
  addCall(writer, toolCallId(run, actor, call), { name, input, recorded: key !== undefined })
}

export interface ToolInput {
  readonly name: string
  readonly input: unknown
  readonly recorded: boolean
  /** Key of the actor that made the call. Default: the event's actor. */
  readonly actor?: string
  /** Additional facts about the call. */
  readonly about?: Partial<OpenTool>
}

/** Shows the input of a call, unless it was shown already. */
export function addCall(writer: ChatWriter, id: string, { name, input, about, ...options }: ToolInput): void {
  const { index } = writer.event
  const known = writer.state.tools.get(id)
  if (known !== undefined && known.state !== 'drafting') return
  if (writer.isOwn) writer.closeText()
  const { step = writer.state.step, createdAt = index } = known ?? {}
  writer.setTool(id, { ...about, state: 'called', step, createdAt, calledAt: index })
  writer.emit({ type: 'tool-input-available', ...headOf(writer, id, name), input: input ?? null }, { step, ...options })
}

export function showProgress(writer: ChatWriter, { data, run, actor }: LoggedEventOf<'tool.progressed'>): void {
  const id = toolCallId(run, actor, data.call)
  const tool = writer.state.tools.get(id)
  if (tool?.state !== 'called') return
  const { output, key } = data
  writer.emit(
    { type: 'tool-output-available', toolCallId: id, output: output ?? null, ...dynamicIn(writer), preliminary: true },
    { step: tool.step, recorded: key !== undefined },
  )
}

export function endTool(
  writer: ChatWriter,
  { type, data, run, actor }: LoggedEventOf<'tool.completed'> | LoggedEventOf<'tool.failed'>,
): void {
  const id = toolCallId(run, actor, data.call)
  const recorded = data.key !== undefined
  addCall(writer, id, { name: data.name, input: null, recorded })
  const tool = writer.state.tools.get(id)!
  const { step, denied = false } = tool
  const options = { step, recorded, ends: tool }
  if (type === 'tool.completed')
    writer.emit(
      { type: 'tool-output-available', toolCallId: id, output: data.output ?? null, ...dynamicIn(writer) },
      options,
    )
  else if (denied) writer.emit({ type: 'tool-output-denied', toolCallId: id }, options)
  else failTool(writer, id, data.error.message, options)
  writer.setTool(id, undefined)
  writer.set({ stepDue: true, hasResults: true })
}

/** Ends the calls that have no result when the run ends. */
export function endOpenTools(writer: ChatWriter): void {
  for (const [id, { state, step }] of writer.state.tools) {
    if (state === 'answered') continue
    failTool(writer, id, 'the run ended before this call did', { step })
    writer.set({ stepDue: true, hasResults: true })
  }
  writer.set({ tools: new Map() })
}

function failTool(writer: ChatWriter, id: string, errorText: string, options: EmitOptions): void {
  writer.emit({ type: 'tool-output-error', toolCallId: id, errorText, ...dynamicIn(writer) }, options)
}

function headOf(writer: ChatWriter, id: string, toolName: string) {
  return { toolCallId: id, toolName, ...dynamicIn(writer) }
}

export function dynamicIn({ view }: ChatWriter): { readonly dynamic?: true } {
  return view.tools === 'dynamic' ? { dynamic: true } : {}
}
