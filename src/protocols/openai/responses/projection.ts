/** Projects a log to response events. Sequence numbers are counted in the fold, so they are the same on every node. */
import type { LoggedEvent, LoggedEventOf } from '../../../core/model/event.ts'
import type { ViewKind } from '../../../core/delivery/view-cache.ts'
import type { JsonTemplate } from '../../../core/model/json-template.ts'
import type { Projection, TextStretch } from '../../../core/ports/projection.ts'
import { lengthOf, textFrom } from '../../../core/structure/text-pieces.ts'
import { callerCall, type Piece, applyEvent, applyTexts, type ToolResult, type ToolUse } from '../view/reply.ts'
import { type ErrorObject, type EndError, retractedError } from '../wire/errors.ts'
import { toItemId, toResponseId } from '../wire/ids.ts'
import { messageItem, textPart, toResponse } from './object.ts'
import { isRelayed, received, relayAfter, relayedEnd } from './relay.ts'
import { beginResponse, isEnded, type ItemStatus, type OutputItem, type ResponseState } from './state.ts'

export interface ResponseFrame {
  readonly sequence: number
  readonly data: { readonly type: string; readonly sequence_number: number } | '[DONE]'
  /** Of a text's delta: `data` as JSON. */
  readonly deltaJson?: string
  /** Final frame. */
  readonly last: boolean
}

export function responseProjection(part: number): Projection<ResponseState, ResponseFrame> {
  return {
    initial: (run) => beginResponse(run, part),
    apply(before, event) {
      const { reply, pieces } = applyEvent(before.reply, event)
      const relay = relayAfter(before.relay, event)
      const draft = new Draft({ ...before, relay, reply, ...noted(before, event) })
      if (event.type === 'upstream.received') draft.relay(event)
      for (const piece of pieces) draft.add(piece, isRelayed(relay, event, piece))
      return { state: draft.state, frames: draft.frames }
    },
    applyTexts(before, texts) {
      const { message, reasoning, cut, sequence, relay } = before
      // Each text then produces one delta.
      const reply =
        message === undefined || reasoning !== undefined || cut || relay !== undefined
          ? undefined
          : applyTexts(before.reply, texts)
      if (reply === undefined) return undefined
      const state = { ...before, reply, sequence: sequence + texts.texts.length }
      return { state, frames: () => textFrames(before, message!.index, texts) }
    },
  }
}

export function responseKind(part: number): ViewKind<ResponseState, ResponseFrame> {
  return {
    name: `openai response ${part}`,
    projection: responseProjection(part),
    // `[DONE]` has no number, but a client that has all numbers still needs it.
    position: (state) => state.sequence + (isEnded(state) ? 1 : 0),
    nextNumber: ({ sequence }) => sequence,
    mayEnd: ({ last }) => last,
  }
}

function textFrames(state: ResponseState, index: number, { jsons }: TextStretch): ResponseFrame[] {
  const position = partPosition(state, index)
  const build = (delta: string, sequence: number): TextData => textData(position, delta, sequence)
  const template = state.textTemplate.of(index, build)
  return jsons.map((json, at) => new TextFrame(state.sequence + at, json, build, template))
}

export const TEXT_DELTA = 'response.output_text.delta'

interface TextData {
  readonly type: string
  readonly sequence_number: number
}

function textData(position: object, delta: string, sequence: number): TextData {
  return { type: TEXT_DELTA, sequence_number: sequence, ...position, delta, logprobs: [] } as TextData
}

class TextFrame implements ResponseFrame {
  readonly sequence: number
  readonly last = false
  /** As JSON. */
  readonly #text: string
  readonly #build: (delta: string, sequence: number) => TextData
  readonly #template: JsonTemplate

  constructor(
    sequence: number,
    text: string,
    build: (delta: string, sequence: number) => TextData,
    template: JsonTemplate,
  ) {
    this.sequence = sequence
    this.#text = text
    this.#build = build
    this.#template = template
  }

  get data(): TextData {
    return this.#build(JSON.parse(this.#text) as string, this.sequence)
  }

  get deltaJson(): string {
    return this.#template.json(this.#text, this.sequence)
  }
}

function frameOf(sequence: number, type: string, fields: object, last = false): ResponseFrame {
  return { sequence, data: { type, sequence_number: sequence, ...fields }, last }
}

function partPosition({ items }: ResponseState, index: number): object {
  return { item_id: items[index]!.id, output_index: index, content_index: 0 }
}

/** State changes by events without frames. */
function noted(state: ResponseState, event: LoggedEvent): Partial<ResponseState> {
  switch (event.type) {
    case 'run.created':
      return { input: event.data.input }
    case 'run.paused':
      return { asked: event.data.questions }
    case 'run.resumed': {
      if (isEnded(state)) return {}
      const calls = state.asked.flatMap((question) => {
        const call = callerCall(event.run, question)
        return call === undefined ? [] : [{ call: call.id, output: event.data.answers[question.id] }]
      })
      return { waiting: [], ...(calls.length > 0 && { input: { results: calls } }) }
    }
    default:
      return {}
  }
}

type Changes = { -readonly [Key in keyof ResponseState]?: ResponseState[Key] }

/** One step of the fold. */
class Draft {
  readonly state: { -readonly [Key in keyof ResponseState]: ResponseState[Key] }
  readonly frames: ResponseFrame[] = []
  #isMuted = false

  /** Mutates `state`, which must belong to the draft. */
  constructor(state: ResponseState) {
    this.state = state
  }

  /** Relays an event of the upstream. */
  relay(event: LoggedEventOf<'upstream.received'>): void {
    const { relay, fields } = received(this.state, event)
    this.#set({ relay })
    if (fields !== undefined) this.#emit(event.data.name, fields)
  }

  /** `isShown`: the upstream's own event already shows the piece. */
  add(piece: Piece, isShown: boolean): void {
    this.#isMuted = isShown
    this.#apply(piece)
    this.#isMuted = false
  }

  #apply(piece: Piece): void {
    switch (piece.type) {
      case 'created':
        this.#set({ created: piece.created })
        this.#emitResponse('response.created')
        if (this.state.status === 'queued') this.#emitResponse('response.queued')
        return
      case 'started':
        this.#set({ status: 'in_progress' })
        return this.#emitResponse('response.in_progress')
      case 'text':
        return this.#addText(piece.text)
      case 'text-end':
        return this.#endMessage('completed')
      case 'reasoning':
        return this.#reason(piece.text)
      case 'reasoning-end':
        return this.#endReasoning()
      case 'tool':
        return this.#beginTool(piece.tool)
      case 'tool-end':
        return this.#endTool(piece.tool, piece.result)
      case 'waiting':
        this.#set({ waiting: piece.questions })
        return this.#emitResponse('response.in_progress')
      case 'calls':
        this.#closeItems('completed')
        for (const { id, name, arguments: given } of piece.calls) this.#addCall(id, name, given)
        return this.#complete('stop', piece.at)
      case 'completed':
        this.#closeItemsAs('completed')
        return this.#complete(piece.finish, piece.at)
      case 'failed':
        return this.#fail(piece.status, piece.endError)
      case 'retracted':
        this.#emitError(retractedError(toResponseId(this.state.reply.part)), true)
        return this.#set({ cut: true })
    }
  }

  #set(changes: Changes): void {
    Object.assign(this.state, changes)
  }

  #emit(type: string, fields: object, last = false): void {
    if (this.state.cut || this.#isMuted) return
    this.#begin()
    const { sequence } = this.state
    this.frames.push(frameOf(sequence, type, fields, last))
    this.state.sequence = sequence + 1
  }

  /** The start, if the upstream has sent none. */
  #begin(): void {
    const { relay } = this.state
    if (relay === undefined || relay.hasStarted) return
    this.#set({ relay: { ...relay, hasStarted: true } })
    this.#emitResponse('response.created')
  }

  /** Built lazily: it contains all items, and a run with many questions sends it many times. */
  #emitResponse(type: string): void {
    if (this.state.cut || this.#isMuted) return
    const state: ResponseState = { ...this.state }
    this.#begin()
    const { sequence } = this.state
    const data = {
      type,
      sequence_number: sequence,
      get response() {
        return toResponse(state)
      },
    }
    this.frames.push({ sequence, data, last: false })
    this.state.sequence = sequence + 1
  }

  /** Both flat, as in OpenAI's schema, and nested, as its servers send it, so that every client raises an error. */
  #emitError(error: ErrorObject, last: boolean): void {
    const { type, code, message, param } = error
    this.#emit('error', { code, message, param, error: { type, code, message, param } }, last)
  }

  #emitDone(): void {
    if (!this.state.cut) this.frames.push({ sequence: Infinity, data: '[DONE]', last: true })
  }

  #addItem(prefix: string, make: (id: string) => OutputItem): number {
    const { items, reply } = this.state
    const item = make(toItemId(prefix, reply.part, items.length))
    this.#set({ items: [...items, item] })
    this.#emit('response.output_item.added', { output_index: items.length, item })
    return items.length
  }

  #endItem(index: number, item: OutputItem): void {
    this.#set({ items: this.state.items.with(index, item) })
    this.#emit('response.output_item.done', { output_index: index, item })
  }

  #idAt(index: number): string {
    return this.state.items[index]!.id
  }

  #addText(text: string): void {
    this.#endReasoning()
    if (this.state.message === undefined) {
      const start = lengthOf(this.state.reply.sent) - text.length
      const index = this.#addItem('msg', (id) => messageItem(id, 'in_progress', undefined))
      this.#set({ message: { index, start } })
      this.#emit('response.content_part.added', { ...this.#partPosition(index), part: textPart('') })
    }
    const { index } = this.state.message!
    this.#emit(TEXT_DELTA, { ...this.#partPosition(index), delta: text, logprobs: [] })
  }

  #partPosition(index: number): object {
    return partPosition(this.state, index)
  }

  #endMessage(status: ItemStatus): void {
    const { message, reply } = this.state
    if (message === undefined) return
    const { index, start } = message
    const text = textFrom(reply.sent, start)
    this.#set({ message: undefined })
    this.#emit('response.output_text.done', { ...this.#partPosition(index), text, logprobs: [] })
    this.#emit('response.content_part.done', { ...this.#partPosition(index), part: textPart(text) })
    this.#endItem(index, messageItem(this.#idAt(index), status, text))
  }

  /** As a summary, the form of reasoning that clients show. */
  #reason(text: string): void {
    if (this.state.reasoning === undefined) {
      this.#endMessage('completed')
      const index = this.#addItem('rs', (id) => ({ type: 'reasoning', id, summary: [] }))
      this.#set({ reasoning: { index, text: '' } })
      this.#emit('response.reasoning_summary_part.added', { ...this.#summaryPosition(index), part: summaryPart('') })
    }
    const { index, text: before } = this.state.reasoning!
    this.#set({ reasoning: { index, text: before + text } })
    this.#emit('response.reasoning_summary_text.delta', { ...this.#summaryPosition(index), delta: text })
  }

  #summaryPosition(index: number): object {
    return { item_id: this.#idAt(index), output_index: index, summary_index: 0 }
  }

  #endReasoning(): void {
    const { reasoning } = this.state
    if (reasoning === undefined) return
    const { index, text } = reasoning
    this.#set({ reasoning: undefined })
    this.#emit('response.reasoning_summary_text.done', { ...this.#summaryPosition(index), text })
    this.#emit('response.reasoning_summary_part.done', { ...this.#summaryPosition(index), part: summaryPart(text) })
    this.#endItem(index, { type: 'reasoning', id: this.#idAt(index), summary: [summaryPart(text)] })
  }

  /** As an MCP call, which clients show but do not execute; as a function call for clients of Open Responses that asked for it. */
  #beginTool({ call, name, input }: ToolUse): void {
    this.#endMessage('completed')
    this.#endReasoning()
    const given = JSON.stringify(input ?? {})
    if (this.state.about?.tools === 'function_call') {
      const index = this.#addCall(call, name, given)
      return this.#set({ tools: new Map(this.state.tools).set(call, index) })
    }
    // Without arguments, which clients assemble from the following deltas.
    const index = this.#addItem('mcp', (id) => mcpCall(id, name, '', 'in_progress'))
    const items = this.state.items.with(index, mcpCall(this.#idAt(index), name, given, 'in_progress'))
    this.#set({ items, tools: new Map(this.state.tools).set(call, index) })
    const position = { item_id: this.#idAt(index), output_index: index }
    this.#emit('response.mcp_call.in_progress', position)
    this.#emit('response.mcp_call_arguments.delta', { ...position, delta: given })
    this.#emit('response.mcp_call_arguments.done', { ...position, arguments: given })
  }

  #endTool({ call, name, input }: ToolUse, result: ToolResult): void {
    const index = this.state.tools.get(call)
    if (index === undefined) return
    const tools = new Map(this.state.tools)
    tools.delete(call)
    this.#set({ tools })
    if (this.state.items[index]!.type === 'function_call') return this.#addResult(call, result)
    const position = { item_id: this.#idAt(index), output_index: index }
    this.#emit('error' in result ? 'response.mcp_call.failed' : 'response.mcp_call.completed', position)
    const status = 'error' in result ? 'failed' : 'completed'
    this.#endItem(index, mcpCall(this.#idAt(index), name, JSON.stringify(input ?? {}), status, result))
  }

  /** A call that the server executes has its result in the same response. */
  #addResult(call: string, result: ToolResult): void {
    const output = 'error' in result ? JSON.stringify({ error: result.error }) : outputText(result.output)
    const item = (id: string, status: ItemStatus): OutputItem => ({
      type: 'function_call_output',
      id,
      call_id: call,
      output,
      status,
    })
    const index = this.#addItem('fco', (id) => item(id, 'in_progress'))
    this.#endItem(index, item(this.#idAt(index), 'completed'))
  }

  #addCall(call: string, name: string, given: string): number {
    const item = (id: string, status: ItemStatus, written: string): OutputItem => ({
      type: 'function_call',
      id,
      call_id: call,
      name,
      arguments: written,
      status,
    })
    const index = this.#addItem('fc', (id) => item(id, 'in_progress', ''))
    const position = { item_id: this.#idAt(index), output_index: index }
    this.#emit('response.function_call_arguments.delta', { ...position, delta: given })
    this.#emit('response.function_call_arguments.done', { ...position, name, arguments: given })
    this.#endItem(index, item(this.#idAt(index), 'completed', given))
    return index
  }

  /** Closes open items at the end, because clients reject responses with open items. */
  #closeItems(status: ItemStatus): void {
    this.#endReasoning()
    this.#endMessage(status)
    for (const index of this.state.tools.values()) {
      const item = this.state.items[index]!
      if (item.type === 'mcp_call') this.#endItem(index, { ...item, status: 'incomplete' })
    }
    this.#set({ tools: new Map() })
  }

  /** Items of the upstream are closed by its own events, or by the error that follows. */
  #closeItemsAs(status: ItemStatus): void {
    this.#isMuted = this.state.relay?.isVerbatim === true
    this.#closeItems(status)
    this.#isMuted = false
  }

  #complete(finish: 'stop' | 'length' | 'content_filter', at: number): void {
    if (finish === 'stop') this.#set({ status: 'completed', completedAt: at })
    else this.#set({ status: 'incomplete', reason: finish === 'length' ? 'max_output_tokens' : 'content_filter' })
    const type = finish === 'stop' ? 'response.completed' : 'response.incomplete'
    this.#emit(type, relayedEnd(this.state, type) ?? { response: toResponse(this.state) })
    this.#emitDone()
  }

  #fail(status: 'failed' | 'cancelled', endError: EndError): void {
    this.#closeItemsAs('incomplete')
    this.#set({ status, error: endError.error, endError })
    this.#emitResponse('response.failed')
    this.#emitError(endError.error, false)
    this.#emitDone()
  }
}

function summaryPart(text: string): object {
  return { type: 'summary_text', text }
}

function mcpCall(
  id: string,
  name: string,
  given: string,
  status: 'in_progress' | 'completed' | 'failed',
  result?: ToolResult,
): OutputItem {
  return {
    type: 'mcp_call',
    id,
    server_label: 'holdfast',
    name,
    arguments: given,
    output: result !== undefined && 'output' in result ? outputText(result.output) : null,
    error: result !== undefined && 'error' in result ? result.error : null,
    status,
  }
}

function outputText(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null)
}
