/** The stream of one request: progress, questions to the client's user, and the response at the end. */
import type { Checkpoint, SharedView } from '../../../core/delivery/shared-view.ts'
import type { StreamFormat } from '../../../http/response/stream.ts'
import { viewFormat, type FrameFormat } from '../../../http/response/view.ts'
import { keyOf, toElicitation } from '../view/elicitation.ts'
import type { CallFrame, CallState } from '../view/projection.ts'
import { metaOf, type ToolResult, waitingResult } from '../view/result.ts'
import { toRpcError } from './errors.ts'
import { type StreamName, toElicitationId, toStreamToken, toToken } from './tokens.ts'

/** Options of a call's response. */
export interface CallForm {
  /** Since 2026-07-28 results contain their type, and questions end the request. */
  readonly era: 'legacy' | 'modern'
  /** Added to every result and question. */
  readonly meta?: Readonly<Record<string, unknown>>
}

/** How the frames of a call are encoded for one client. */
interface CallEncoding extends CallForm {
  readonly run: CallState['run']
  readonly name: StreamName
  /** Number of answered pauses: earlier questions are not sent. */
  readonly leg: number
}

export interface CallStream extends Omit<CallEncoding, 'run'> {
  readonly view: SharedView<CallState, CallFrame>
  /** Number of the last frame that the client has. Default: none. */
  readonly after?: number
  /** Checkpoint to start from. Default: the beginning. */
  readonly from?: Checkpoint<CallState>
  /** Send an empty event first, so that the client can resume before the next one. */
  readonly sendsPrimingEvent: boolean
}

/** Encodes every frame of a run, for the console. */
export function callFrameFormat(run: CallState['run']): FrameFormat<CallFrame> {
  return frameFormatOf({
    run,
    name: { run: run.id, request: 1, progress: 1, supportsElicitation: true },
    leg: 0,
    era: 'legacy',
  })
}

export function callFormat(stream: CallStream): StreamFormat & { readonly first: number } {
  const { view, after = -1, from = view.start, sendsPrimingEvent, name, leg, era } = stream
  const frameFormat = frameFormatOf({ ...stream, run: view.run })
  const format = viewFormat(
    sendsPrimingEvent ? { ...frameFormat, preamble: `${eventId(stream, after)}data: \n\n` } : frameFormat,
    {
      view,
      from,
      ...(after >= 0 && { isNeeded: (frame: CallFrame) => frame.position > after }),
      ends: (frame) => frame.kind === 'result' || !(isInline({ name, era }) || isAnswered(frame, leg)),
    },
  )
  return { ...format, headers: { 'holdfast-run': name.run }, first: from.index }
}

function frameFormatOf(dialogue: CallEncoding): FrameFormat<CallFrame> {
  const { name, leg, era, meta = null } = dialogue
  return {
    contentType: 'text/event-stream; charset=utf-8',
    preamble: ': open\n\n',
    heartbeat: ': keep-alive\n\n',
    key: JSON.stringify([toStreamToken(name), leg, era, meta]),
    encode(frame) {
      const message = messageOf(dialogue, frame)
      return message === undefined ? '' : `${eventId(dialogue, frame.position)}data: ${JSON.stringify(message)}\n\n`
    },
    notice(notice) {
      if (notice.kind === 'gap') return ''
      // A clean end without a response would look as if the response were still to come.
      if (notice.kind === 'closing') return undefined
      return `data: ${JSON.stringify({ jsonrpc: '2.0', id: name.request, error: toRpcError(notice.error) })}\n\n`
    },
  }
}

/** Streams of 2026-07-28 cannot be resumed. */
function eventId({ era, name }: Pick<CallEncoding, 'era' | 'name'>, position: number): string {
  return era === 'legacy' ? `id: ${toStreamToken(name)}.${position}\n` : ''
}

/** Whether the client answers questions on the stream. Questions to a client of 2026-07-28 end its request. */
function isInline({ era, name }: Pick<CallEncoding, 'era' | 'name'>): boolean {
  return era === 'legacy' && name.supportsElicitation
}

function isAnswered(frame: CallFrame, leg: number): boolean {
  return frame.kind === 'questions' && frame.leg < leg
}

function messageOf(dialogue: CallEncoding, frame: CallFrame): object | undefined {
  const { name, run, ...form } = dialogue
  const { request: id } = name
  switch (frame.kind) {
    case 'progress':
      return progressOf(dialogue, frame, frame)
    case 'questions': {
      const { questions } = frame
      const prompts = questions.map(({ prompt }) => prompt)
      if (isAnswered(frame, dialogue.leg))
        return progressOf(dialogue, frame, { type: 'run.paused', message: `asked: ${prompts.join(' ')}` })
      if (!isInline(dialogue))
        return { jsonrpc: '2.0', id, result: pausedResult(form, run, frame, name.supportsElicitation) }
      const { method, params } = toElicitation(questions)
      return {
        jsonrpc: '2.0',
        id: toElicitationId(run.id, keyOf(questions)),
        method,
        params: { ...params, ...(form.meta !== undefined && { _meta: form.meta }) },
      }
    }
    case 'result':
      return { jsonrpc: '2.0', id, result: finalResult(form, frame.result) }
  }
}

/** Progress is sent only to clients that asked for it. */
function progressOf(
  { name: { progress: progressToken }, meta }: CallEncoding,
  { position }: Pick<CallFrame, 'position'>,
  { type, message }: { readonly type: string; readonly message: string },
): object | undefined {
  if (progressToken === undefined) return undefined
  const params = { progressToken, progress: position + 1, message, _meta: { ...meta, 'holdfast/type': type } }
  return { jsonrpc: '2.0', method: 'notifications/progress', params }
}

/** The result of a paused run: the questions, or that the client cannot answer them. */
export function pausedResult(
  form: CallForm,
  run: CallState['run'],
  { questions, leg }: Pick<Extract<CallFrame, { kind: 'questions' }>, 'questions' | 'leg'>,
  supportsElicitation: boolean,
): object {
  if (form.era === 'legacy' || !supportsElicitation)
    return finalResult(
      form,
      waitingResult(
        run,
        questions.map(({ prompt }) => prompt),
      ),
    )
  return {
    resultType: 'input_required',
    inputRequests: { [keyOf(questions)]: toElicitation(questions) },
    requestState: toToken([run.id, leg]),
    _meta: metaOf(run),
  }
}

export function finalResult({ era, meta }: CallForm, { _meta: own, ...result }: ToolResult): object {
  return { ...(era === 'modern' && { resultType: 'complete' }), ...result, _meta: { ...own, ...meta } }
}
