/** A log as a chat completion: as chunks on a stream, and as the whole that they amount to. */
import type { Question } from '../../../core/model/event.ts'
import type { Projection } from '../../../core/ports/projection.ts'
import { type Reply, beginReply, type CallerCall, type Finish, type Piece, tell } from '../view/reply.ts'
import { type ErrorObject, type Verdict, withdrawnError } from '../wire/errors.ts'
import { toCompletionId, toResponseId } from '../wire/ids.ts'
import { toChatUsage } from './usage.ts'

export interface ChatState {
  readonly reply: Reply
  readonly model: string
  readonly created: number | undefined
  readonly reasoning: string
  /** The stream has ended, though what it tells of may go on. */
  readonly cut: boolean
  readonly end: ChatEnd | undefined
  /** What a person is asked, for as long as that is what the run waits for. */
  readonly waiting: readonly Question[]
}

export type ChatEnd =
  | { readonly finish: Finish }
  | { readonly calls: readonly CallerCall[] }
  | { readonly verdict: Verdict }

export interface ChatFrame {
  readonly data: object | '[DONE]'
  /** Nothing comes after it. */
  readonly last: boolean
}

export interface ChatView {
  /** Of a run that waits for its caller's tools. */
  readonly part: number
  readonly includeUsage?: boolean
  /** Tells of tools that are executed on this side, in a field of chunks that say nothing else. */
  readonly progress?: boolean
}

export function chatProjection(view: ChatView): Projection<ChatState, ChatFrame> {
  return {
    initial: (run) => ({
      reply: beginReply(run, view.part),
      model: run.component,
      created: undefined,
      reasoning: '',
      cut: false,
      end: undefined,
      waiting: [],
    }),
    apply(before, event) {
      const { reply, pieces } = tell(before.reply, event)
      let state: ChatState = { ...before, reply }
      if (event.type === 'run.resumed' && state.waiting.length > 0) state = { ...state, waiting: [] }
      let { cut } = before
      const frames: ChatFrame[] = []
      for (const piece of pieces) {
        state = note(state, piece)
        if (!cut) frames.push(...framesOf(state, piece, view))
        cut ||= piece.type === 'withdrawn'
      }
      return { state: { ...state, cut }, frames }
    },
  }
}

function note(state: ChatState, piece: Piece): ChatState {
  switch (piece.type) {
    case 'begun':
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
      return { ...state, end: { verdict: piece.verdict } }
    default:
      return state
  }
}

function framesOf(state: ChatState, piece: Piece, { includeUsage = false, progress = false }: ChatView): ChatFrame[] {
  const chunk = (delta: object, extra: object = {}): ChatFrame => frame(chunkOf(state, delta, null, extra))
  switch (piece.type) {
    case 'begun':
      return [chunk({ role: 'assistant', content: '' })]
    case 'text':
      return [chunk({ content: piece.text })]
    case 'reasoning':
      return [chunk({ reasoning_content: piece.text })]
    case 'tool':
      return progress ? [chunk({}, { holdfast: { tool: { ...piece.tool, status: 'running' } } })] : []
    case 'tool end': {
      const status = 'error' in piece.result ? 'failed' : 'completed'
      return progress ? [chunk({}, { holdfast: { tool: { ...piece.tool, status } } })] : []
    }
    case 'waiting':
      return [chunk({}, { holdfast: { waiting: piece.questions } })]
    case 'withdrawn':
      return [errorFrame(withdrawnError(toResponseId(state.reply.part)))]
    case 'failed':
      return [errorFrame(piece.verdict.error)]
    case 'calls':
      return [chunk({ tool_calls: piece.calls.map(callDelta) }), ...endFrames(state, 'tool_calls', includeUsage)]
    case 'completed':
      return endFrames(state, piece.finish, includeUsage)
    default:
      return []
  }
}

function frame(data: ChatFrame['data'], last = false): ChatFrame {
  return { data, last }
}

function endFrames(state: ChatState, finish: string, includeUsage: boolean): ChatFrame[] {
  const usage = toChatUsage(state.reply.usage)
  return [
    frame(chunkOf(state, {}, finish)),
    // Tokens that nobody counted are not made up: then there is no chunk for them.
    ...(includeUsage && usage !== undefined ? [frame({ ...headOf(state), choices: [], usage })] : []),
    frame('[DONE]', true),
  ]
}

/**
 * Nothing beside the error: a client that finds `choices` may take the chunk for one of the answer and not look further. No `[DONE]`
 * follows it: a hand-written loop might take that for success.
 */
function errorFrame(error: ErrorObject): ChatFrame {
  return frame({ error }, true)
}

function chunkOf(state: ChatState, delta: object, finish: string | null, extra: object = {}): object {
  return { ...headOf(state), choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], ...extra }
}

function headOf({ reply, model, created }: ChatState): object {
  return { id: toCompletionId(reply.part), object: 'chat.completion.chunk', created: created ?? 0, model }
}

function callDelta({ id, name, arguments: input }: CallerCall, index: number): object {
  return { index, id, type: 'function', function: { name, arguments: input } }
}

/** The whole, once there is an end that is no failure. */
export function toCompletion(state: ChatState, end: Exclude<ChatEnd, { verdict: Verdict }>): object {
  const { reply, model, created, reasoning } = state
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
          content: calls !== undefined && reply.text === '' ? null : reply.text,
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
