/**
 * Relays the chunks of a stream that a route made durable (decision 0019). Holdfast's terminal event reports the end, so that success
 * is reported only for `run.completed` (RUN-3).
 */
import type { LoggedEvent } from '../../core/model/event.ts'
import type { Chunk } from '../chunks.ts'
import type { ChatWriter } from './chat-writer.ts'
import type { ChatState, Relay } from './state.ts'

type Received = Extract<LoggedEvent, { type: 'upstream.received' }>
type Start = Extract<Chunk, { type: 'start' }>
type Finish = Extract<Chunk, { type: 'finish' }>

/** The source starts the message itself: it may continue a message that the client has. */
export function beginRelay(writer: ChatWriter): void {
  writer.set({ relay: { isVerbatim: true, hasBegun: false, isStepOpen: false } })
}

/** Whether an event is derived from a chunk that was shown. */
export function isRelayed({ relay }: ChatState, { type }: LoggedEvent): boolean {
  if (relay?.isVerbatim !== true || !relay.hasBegun) return false
  return type !== 'upstream.received' && !type.startsWith('run.') && type !== 'attempt.discarded'
}

export function received(writer: ChatWriter, { data: { protocol, data } }: Received): void {
  const { relay } = writer.state
  if (relay === undefined || !writer.isOwn || protocol !== 'ai-sdk') return
  const chunk = data as Chunk | undefined
  const begin = (given?: string): void => {
    const { leg, restart } = writer.view
    if (leg === 0 && restart === 0) writer.begin([], given)
    writer.set({ messageId: given })
    change(writer, { hasBegun: true })
  }
  if (chunk === undefined) {
    if (!relay.hasBegun) {
      begin()
      writer.beginStep()
    }
    return change(writer, { isVerbatim: false })
  }
  change(writer, { isVerbatim: true })
  if (!relay.hasBegun) begin(chunk.type === 'start' ? chunk.messageId : undefined)
  add(writer, chunk)
}

function add(writer: ChatWriter, chunk: Chunk): void {
  switch (chunk.type) {
    case 'start': {
      const { messageMetadata } = chunk as Partial<Start>
      return messageMetadata === undefined ? undefined : writer.emit({ type: 'message-metadata', messageMetadata })
    }
    case 'start-step':
      change(writer, { isStepOpen: true })
      return writer.emit(chunk)
    case 'finish-step':
      change(writer, { isStepOpen: false })
      return writer.emit(chunk)
    case 'finish':
      return change(writer, { finish: chunk })
    // The run fails, and reports the reason.
    case 'error':
    case 'abort':
      return undefined
    default:
      return writer.emit(chunk)
  }
}

/** Ends a completed run, with the fields of the source's `finish`. */
export function endRelay(writer: ChatWriter, { finishReason, messageMetadata }: Finish): Finish {
  const given = writer.state.relay?.finish
  if (given?.messageMetadata !== undefined)
    writer.emit({ type: 'message-metadata', messageMetadata: given.messageMetadata })
  writer.set({ ended: messageMetadata })
  return { type: 'finish', finishReason: given?.finishReason ?? finishReason, messageMetadata }
}

function change(writer: ChatWriter, changes: Partial<Relay>): void {
  const { relay } = writer.state
  if (relay !== undefined) writer.set({ relay: { ...relay, ...changes } })
}
