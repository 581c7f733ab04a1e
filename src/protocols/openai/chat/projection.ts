/** Projects a log to a chat completion: stream chunks, and the complete object. */
import type { Question } from '../../../core/model/event.ts'
import type { ViewKind } from '../../../core/delivery/view-cache.ts'
import { type JsonTemplate, TemplateMemo } from '../../../core/model/json-template.ts'
import type { Projection, TextStretch } from '../../../core/ports/projection.ts'
import { textFrom } from '../../../core/structure/text-pieces.ts'
import {
  applyEvent,
  applyTexts,
  beginReply,
  type CallerCall,
  type Finish,
  type Piece,
  type Reply,
} from '../view/reply.ts'
import { type ErrorObject, type EndError, retractedError } from '../wire/errors.ts'
import { toCompletionId, toResponseId } from '../wire/ids.ts'
import { type CompletionRelay, isRelayed, received, relayAfter, relayedEnd } from './relay.ts'
import { wholeCompletion } from './whole-completion.ts'
import { toChatUsage } from './usage.ts'

export interface CompletionState {
  readonly reply: Reply
  readonly model: string
  readonly created: number | undefined
  /** Template of text chunks. */
  readonly textTemplate: TemplateMemo
  readonly reasoning: string
  /** The stream ended early; the run may continue. */
  readonly cut: boolean
  readonly end: CompletionEnd | undefined
  /** Open questions to a person. */
  readonly waiting: readonly Question[]
  /** Set for runs of an upstream with chat completions. */
  readonly relay?: CompletionRelay
}

export type CompletionEnd =
  | { readonly finish: Finish }
  | { readonly calls: readonly CallerCall[] }
  | { readonly endError: EndError }

export interface CompletionFrame {
  readonly data: object | '[DONE]'
  /** `data` as JSON, if it is known. */
  readonly json?: string
  /** Name of an upstream's own event. Default: none. */
  readonly event?: string
  /** Final frame. */
  readonly last: boolean
}

export interface CompletionView {
  /** Part number of a run that waits for its caller's tools. */
  readonly part: number
  readonly includeUsage?: boolean
  /** Report server-side tool calls in an extra field of otherwise empty chunks. */
  readonly progress?: boolean
  /** The complete object is needed, not its stream. */
  readonly whole?: boolean
}

export function completionProjection(view: CompletionView): Projection<CompletionState, CompletionFrame> {
  return {
    initial: (run) => ({
      reply: beginReply(run, view.part),
      model: run.component,
      created: undefined,
      textTemplate: new TemplateMemo(),
      reasoning: '',
      cut: false,
      end: undefined,
      waiting: [],
    }),
    apply(before, event) {
      if (event.type === 'upstream.received') return received(before, event, view)
      const { reply, pieces } = applyEvent(before.reply, event)
      const relay = relayAfter(before.relay, event)
      let state: CompletionState = { ...before, reply, ...(relay !== undefined && { relay }) }
      if (event.type === 'run.resumed' && state.waiting.length > 0) state = { ...state, waiting: [] }
      let { cut } = before
      const frames: CompletionFrame[] = []
      for (const piece of pieces) {
        state = note(state, piece)
        if (!cut && !isRelayed(relay, event, piece)) frames.push(...framesOf(state, piece, view))
        cut ||= piece.type === 'retracted'
      }
      return { state: { ...state, cut }, frames }
    },
    applyTexts(before, texts) {
      // Each text then gives one chunk, or none if the upstream's own chunks have shown them.
      const isShown = before.relay?.isVerbatim !== true
      const reply = before.cut || (isShown && before.relay !== undefined) ? undefined : applyTexts(before.reply, texts)
      return reply && { state: { ...before, reply }, frames: () => (isShown ? textFrames(before, texts) : []) }
    },
  }
}

function textFrames(state: CompletionState, { jsons }: TextStretch): CompletionFrame[] {
  const build = (text: string): object => chunkOf(state, { content: text }, null)
  const template = state.textTemplate.of(state.created ?? 0, build)
  return jsons.map((json) => new TextFrame(json, build, template))
}

class TextFrame implements CompletionFrame {
  readonly last = false
  /** As JSON. */
  readonly #text: string
  readonly #build: (text: string) => object
  readonly #template: JsonTemplate

  constructor(text: string, build: (text: string) => object, template: JsonTemplate) {
    this.#text = text
    this.#build = build
    this.#template = template
  }

  get data(): object {
    return this.#build(JSON.parse(this.#text) as string)
  }

  get json(): string {
    return this.#template.json(this.#text, 0)
  }
}

/** Chunks have no numbers: a stream can only be read from its beginning. */
export function completionKind(view: CompletionView): ViewKind<CompletionState, CompletionFrame> {
  const { part, includeUsage = false, progress = false } = view
  return {
    name: `openai chat ${part} ${includeUsage} ${progress}`,
    projection: completionProjection(view),
    position: () => 0,
    mayEnd: ({ last }) => last,
  }
}

function note(state: CompletionState, piece: Piece): CompletionState {
  switch (piece.type) {
    case 'created':
      return { ...state, created: piece.created }
    case 'reasoning':
      return { ...state, reasoning: state.reasoning + piece.text }
    case 'waiting':
      return { ...state, waiting: piece.questions }
    case 'calls':
      return { ...state, end: { calls: piece.calls } }
    case 'completed':
      return { ...state, end: { finish: piece.finish } }
    case 'failed':
      return { ...state, end: { endError: piece.endError } }
    default:
      return state
  }
}

function framesOf(
  state: CompletionState,
  piece: Piece,
  { includeUsage = false, progress = false }: CompletionView,
): CompletionFrame[] {
  const chunk = (delta: object, extra: object = {}): CompletionFrame => frame(chunkOf(state, delta, null, extra))
  switch (piece.type) {
    case 'created':
      return state.relay?.isVerbatim === true ? [] : [chunk({ role: 'assistant', content: '' })]
    case 'text':
      return [chunk({ content: piece.text })]
    case 'reasoning':
      return [chunk({ reasoning_content: piece.text })]
    case 'tool':
      return progress ? [chunk({}, { holdfast: { tool: { ...piece.tool, status: 'running' } } })] : []
    case 'tool-end': {
      const status = 'error' in piece.result ? 'failed' : 'completed'
      return progress ? [chunk({}, { holdfast: { tool: { ...piece.tool, status } } })] : []
    }
    case 'waiting':
      return [chunk({}, { holdfast: { waiting: piece.questions } })]
    case 'retracted':
      return [errorFrame(retractedError(toResponseId(state.reply.part)))]
    case 'failed':
      return [errorFrame(piece.endError.error)]
    case 'calls':
      return [chunk({ tool_calls: piece.calls.map(callDelta) }), ...endFrames(state, 'tool_calls', includeUsage)]
    case 'completed':
      if (state.relay?.isVerbatim === true) return relayedEnd(state.relay, includeUsage)
      return endFrames(state, piece.finish, includeUsage)
    default:
      return []
  }
}

function frame(data: CompletionFrame['data'], last = false): CompletionFrame {
  return { data, last }
}

function endFrames(state: CompletionState, finish: string, includeUsage: boolean): CompletionFrame[] {
  const usage = toChatUsage(state.reply.usage)
  return [
    frame(chunkOf(state, {}, finish)),
    // No usage chunk if token counts are unknown.
    ...(includeUsage && usage !== undefined ? [frame({ ...headOf(state), choices: [], usage })] : []),
    frame('[DONE]', true),
  ]
}

/**
 * Only the error: clients may treat a chunk with `choices` as content and ignore the error. No `[DONE]` follows, because hand-written
 * loops might take it for success.
 */
function errorFrame(error: ErrorObject): CompletionFrame {
  return frame({ error }, true)
}

function chunkOf(state: CompletionState, delta: object, finish: string | null, extra: object = {}): object {
  return { ...headOf(state), choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], ...extra }
}

function headOf({ reply, model, created }: CompletionState): object {
  return { id: toCompletionId(reply.part), object: 'chat.completion.chunk', created: created ?? 0, model }
}

function callDelta({ id, name, arguments: input }: CallerCall, index: number): object {
  return { index, id, type: 'function', function: { name, arguments: input } }
}

/** The complete object, after a successful end. */
export function toCompletion(state: CompletionState, end: Exclude<CompletionEnd, { endError: EndError }>): object {
  const relayed = state.relay?.isVerbatim === true ? state.relay.whole : undefined
  if (relayed !== undefined) return wholeCompletion(relayed)
  const { reply, model, created, reasoning } = state
  const text = textFrom(reply.textPieces)
  const usage = toChatUsage(reply.usage)
  const calls = 'calls' in end ? end.calls : undefined
  return {
    id: toCompletionId(reply.part),
    object: 'chat.completion',
    created: created ?? 0,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: calls !== undefined && text === '' ? null : text,
          refusal: null,
          ...(reasoning !== '' && { reasoning_content: reasoning }),
          ...(calls !== undefined && { tool_calls: calls.map((call) => wholeCall(call)) }),
        },
        logprobs: null,
        finish_reason: 'calls' in end ? 'tool_calls' : end.finish,
      },
    ],
    ...(usage !== undefined && { usage }),
  }
}

function wholeCall({ id, name, arguments: input }: CallerCall): object {
  return { id, type: 'function', function: { name, arguments: input } }
}
