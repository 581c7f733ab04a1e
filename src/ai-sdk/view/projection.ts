/**
 * Projects a log to the UI message stream of the AI SDK: one assistant message per run, or several if it asks questions that are
 * answered with text.
 */
import type { Failure, LoggedEvent, LoggedEventOf } from '../../core/model/event.ts'
import type { ViewKind } from '../../core/delivery/view-cache.ts'
import type { Projection, TextsStep, TextStretch } from '../../core/ports/projection.ts'
import type { Chunk, FinishReason } from '../chunks.ts'
import { ChatWriter, type ChatView, standingChunk } from './chat-writer.ts'
import { addDeltas } from './chunk-list.ts'
import { addArtifact, cite } from './project-content.ts'
import { pause, resume } from './project-pauses.ts'
import { callTool, draftTool, endOpenTools, endTool, showProgress } from './project-tools.ts'
import { endWork, startWork } from './project-work.ts'
import { beginRelay, endRelay, isRelayed, received } from './relay.ts'
import { retract } from './retract.ts'
import type { ChatFrame, ChatState } from './state.ts'

export function chatProjection(view: ChatView): Projection<ChatState, ChatFrame> {
  return {
    initial: ({ id, session }) => ({
      run: id,
      session,
      leg: 0,
      message: { leg: 0, restart: 0 },
      chunks: undefined,
      step: 0,
      stepDue: false,
      hasResults: false,
      text: undefined,
      texts: 0,
      textChars: 0,
      tools: new Map(),
      work: new Map(),
      waiting: [],
      pausedAt: undefined,
      askedAt: -1,
      answered: new Map(),
      restarts: 0,
      finish: undefined,
      usage: undefined,
      visibility: 'pending',
      position: 0,
    }),
    apply(state, event) {
      const writer = new ChatWriter(view, state, event)
      project(writer, event)
      return { state: writer.state, frames: writer.frames }
    },
    applyTexts: continueText,
  }
}

/** Texts that continue the open part: each produces one chunk. */
function continueText(state: ChatState, stretch: TextStretch): TextsStep<ChatState, ChatFrame> | undefined {
  const { text: open, relay, visibility, position } = state
  if (open?.kind !== 'text' || open.message !== stretch.message || relay !== undefined) return undefined
  const { texts, jsons } = stretch
  const chunkOf = (delta: string): Chunk => ({ type: 'text-delta', id: open.id, delta })
  const chunks = addDeltas(state.chunks, standingChunk(state, chunkOf(texts[0]!), stretch.first), texts)
  if (chunks === undefined) return undefined
  let { textChars } = state
  for (const text of texts) textChars += text.length
  const isShown = visibility === 'open'
  const framesOf = (head: string): ChatFrame[] =>
    jsons.map((delta, at) => new TextFrame(position + at, `${head}${delta}}`))
  return {
    state: { ...state, chunks, textChars, position: isShown ? position + texts.length : position },
    frames: () => (isShown ? framesOf(`{"type":"text-delta","id":${JSON.stringify(open.id)},"delta":`) : []),
  }
}

/** Few read the chunk itself. */
class TextFrame implements ChatFrame {
  readonly position: number
  readonly json: string

  constructor(position: number, json: string) {
    this.position = position
    this.json = json
  }

  get chunk(): Chunk {
    return JSON.parse(this.json) as Chunk
  }
}

export function chatKind(view: ChatView): ViewKind<ChatState, ChatFrame> {
  return {
    name: `ai-sdk ${view.leg} ${view.restart} ${view.tools}`,
    projection: chatProjection(view),
    position: ({ position }) => position,
    mayEnd: (frame) => frame.end !== undefined,
  }
}

function project(writer: ChatWriter, event: LoggedEvent): void {
  if (isRelayed(writer.state, event)) return undefined
  switch (event.type) {
    case 'run.created':
      return event.data.upstream === 'ai-sdk' ? beginRelay(writer) : begin(writer)
    case 'upstream.received':
      return received(writer, event)
    case 'run.paused':
      return pause(writer, event)
    case 'run.resumed':
      return resume(writer, event)
    case 'run.completed':
      return complete(writer, event)
    case 'run.failed':
      return fail(writer, 'failed', textOf(event.data.error))
    case 'run.rejected':
      return fail(writer, 'rejected', event.data.reason)
    case 'run.cancelled':
      return cancel(writer, event)
    case 'attempt.discarded':
      return retract(writer, event)
    case 'text.delta':
      return writer.isOwn ? writer.say('text', event.data.text, event.data.message) : undefined
    case 'reasoning.delta':
      return writer.isOwn ? writer.say('reasoning', event.data.text, event.data.message) : undefined
    case 'text.completed':
    case 'reasoning.completed':
      return writer.isOwn ? writer.closeText() : undefined
    case 'tool.drafted':
      return draftTool(writer, event)
    case 'tool.called':
      return callTool(writer, event)
    case 'tool.progressed':
      return showProgress(writer, event)
    case 'tool.completed':
    case 'tool.failed':
      return endTool(writer, event)
    case 'model.responded':
      return writer.isOwn ? writer.set({ stepDue: true, finish: event.data.finish }) : undefined
    case 'step.started':
    case 'actor.started':
      return startWork(writer, event)
    case 'step.completed':
    case 'step.failed':
    case 'step.skipped':
    case 'actor.completed':
    case 'actor.failed':
      return endWork(writer, event)
    case 'artifact.added':
      return addArtifact(writer, event)
    case 'source.cited':
      return cite(writer, event)
    case 'state.replaced':
      return writer.emit({ type: 'data-state', data: event.data.state })
    case 'state.patched':
      return writer.emit({ type: 'data-state-patch', data: event.data.patch })
    case 'custom.emitted':
      return writer.addPart({ type: `data-${event.data.name}`, data: event.data.value ?? null })
    default:
      return undefined
  }
}

function begin(writer: ChatWriter): void {
  const { leg, restart } = writer.view
  if (leg === 0 && restart === 0) writer.begin([])
  writer.beginStep()
}

function complete(writer: ChatWriter, { data: { output, usage } }: LoggedEventOf<'run.completed'>): void {
  const { textChars, finish } = writer.state
  // An output that was not streamed becomes the text.
  if (textChars === 0 && output !== undefined && output !== '')
    writer.say('text', typeof output === 'string' ? output : JSON.stringify(output), undefined)
  const messageMetadata = { holdfast: { status: 'completed', ...(usage !== undefined && { usage }) } }
  end(writer, [endRelay(writer, { type: 'finish', finishReason: reasonOf(finish), messageMetadata })])
}

function reasonOf(finish: string | undefined): FinishReason {
  return finish === 'length' || finish === 'content-filter' ? finish : 'stop'
}

/** The client ignores everything after an error; `finish` stops clients that reconnect until they see it. */
function fail(writer: ChatWriter, status: 'failed' | 'rejected', errorText: string): void {
  const finish: Chunk = { type: 'finish', finishReason: 'error', messageMetadata: { holdfast: { status } } }
  end(writer, [{ type: 'error', errorText }, finish])
}

/** A client shows nothing for `abort` alone. */
function cancel(writer: ChatWriter, { data: { reason } }: LoggedEventOf<'run.cancelled'>): void {
  const messageMetadata = { holdfast: { status: 'cancelled' } }
  writer.set({ ended: messageMetadata })
  end(writer, [
    { type: 'abort', ...(reason !== undefined && { reason }) },
    { type: 'finish', finishReason: 'interrupted', messageMetadata },
  ])
}

function end(writer: ChatWriter, chunks: readonly Chunk[]): void {
  const { relay } = writer.state
  if (relay?.hasBegun === false) begin(writer)
  writer.closeText()
  endOpenTools(writer)
  if (writer.state.hasResults) writer.beginDueStep()
  writer.set({ waiting: [] })
  const isStepOpen = relay?.isVerbatim !== true || relay.isStepOpen
  writer.close('run', [...(isStepOpen ? [{ type: 'finish-step' } as const] : []), ...chunks])
}

function textOf({ message, code }: Failure): string {
  return message === '' ? code : message
}
