/**
 * Relays the chunks of an upstream with chat completions. Those from the finish reason on wait for Holdfast's terminal event, so
 * that success is reported only for `run.completed` (RUN-3).
 */
import type { LoggedEvent } from '../../../core/model/event.ts'
import { eventTable } from '../../../core/model/event.ts'
import { actorKey } from '../../../core/structure/actors.ts'
import { type DiscardedAttempt, retractedFrom } from '../../../core/structure/retraction.ts'
import type { Piece } from '../view/reply.ts'
import type { CompletionFrame, CompletionState, CompletionView } from './projection.ts'
import { type Chunk, mergeChunk } from './whole-completion.ts'

export interface CompletionRelay {
  /** The last upstream event is logged, and the following events are derived from it. */
  readonly isVerbatim: boolean
  /** Buffered chunks that end the response. */
  readonly buffered: readonly Chunk[]
  /** All chunks merged, if the complete object is needed. Absent if some were retracted: the derived events have the rest. */
  readonly whole: Chunk | undefined
  /** Index of the first chunk. */
  readonly first: number | undefined
  readonly isPartlyRetracted: boolean
}

const beginning: CompletionRelay = {
  isVerbatim: true,
  buffered: [],
  whole: undefined,
  first: undefined,
  isPartlyRetracted: false,
}

type UpstreamReceived = Extract<LoggedEvent, { type: 'upstream.received' }>

const CHUNK = 'chat.completion.chunk'

/** After a fresh start, derived events are shown until the upstream sends its first event. */
export function relayAfter(relay: CompletionRelay | undefined, event: LoggedEvent): CompletionRelay | undefined {
  if (event.type === 'run.created') return event.data.upstream === 'openai' ? beginning : undefined
  if (event.type === 'run.started' && event.data.attempt > 1) return relay && { ...relay, isVerbatim: false }
  return event.type === 'attempt.discarded' ? relay && retracted(relay, event) : relay
}

function retracted(relay: CompletionRelay, event: DiscardedAttempt): CompletionRelay {
  const { first = Infinity } = relay
  const from = retractedFrom(event, actorKey(undefined))
  if (from === Infinity) return relay
  if (from <= first) return { ...beginning, isVerbatim: false }
  return { ...relay, isVerbatim: false, buffered: [], whole: undefined, isPartlyRetracted: true }
}

/** Whether the upstream's own chunk already shows a piece. */
export function isRelayed(relay: CompletionRelay | undefined, event: LoggedEvent, { type }: Piece): boolean {
  const isContent = eventTable[event.type].effect === 'content' || event.type === 'run.completed'
  return relay?.isVerbatim === true && isContent && type !== 'completed' && type !== 'retracted'
}

export function received(
  state: CompletionState,
  { data, actor, index }: UpstreamReceived,
  view: CompletionView,
): { readonly state: CompletionState; readonly frames: readonly CompletionFrame[] } {
  const { relay } = state
  if (relay === undefined || actor !== undefined || data.protocol !== 'openai') return { state, frames: [] }
  if (data.data === undefined) return { state: { ...state, relay: { ...relay, isVerbatim: false } }, frames: [] }
  if (data.name !== CHUNK)
    return { state, frames: state.cut ? [] : [{ data: data.data as object, event: data.name, last: false }] }
  const chunk = data.data as Chunk
  const whole = view.whole === true && !relay.isPartlyRetracted ? mergeChunk(relay.whole, chunk) : undefined
  const isEnd = relay.buffered.length > 0 || isFinish(chunk)
  const buffered = isEnd ? [...relay.buffered, chunk] : relay.buffered
  const next: CompletionRelay = { ...relay, isVerbatim: true, buffered, whole, first: relay.first ?? index }
  const isShown = !isEnd && !state.cut && !isFailure(chunk)
  return {
    state: { ...state, relay: next },
    frames: isShown ? [{ data: toClientChunk(chunk, view.includeUsage === true), last: false }] : [],
  }
}

function isFinish({ choices }: Chunk): boolean {
  return Array.isArray(choices) && choices.some((choice) => (choice as { finish_reason?: unknown }).finish_reason)
}

/** Whether the chunk is an error. Holdfast's own error follows. */
function isFailure({ error }: Chunk): boolean {
  return error !== undefined && error !== null
}

/** The end as the upstream sent it. */
export function relayedEnd({ buffered }: CompletionRelay, includeUsage: boolean): CompletionFrame[] {
  const frames = buffered.filter((chunk) => includeUsage || !isUsageOnly(chunk))
  return [
    ...frames.map((chunk) => ({ data: toClientChunk(chunk, includeUsage), last: false })),
    { data: '[DONE]', last: true },
  ]
}

/** The gateway always requests usage. A client that did not request it gets no usage chunk. */
function isUsageOnly({ choices, usage }: Chunk): boolean {
  return Array.isArray(choices) && choices.length === 0 && usage !== undefined && usage !== null
}

function toClientChunk(chunk: Chunk, includeUsage: boolean): Chunk {
  if (includeUsage || chunk['usage'] !== null) return chunk
  const { usage: _usage, ...rest } = chunk
  return rest
}
