/** Decides the effect of an append, from the state of the stream. */
import type { Event } from '../../../core/model/event.ts'
import { appendEvent, closeEvents, type ProducerPosition, type StreamState } from '../view/stream-state.ts'
import type { Content } from '../wire/content.ts'
import { streamError } from '../wire/errors.ts'
import { toOffset } from '../wire/offsets.ts'
import { wrong } from './headers.ts'
import { redactedAppend } from './redacted-append.ts'

export interface AppendRequest {
  /** Absent if the request only closes the stream. */
  readonly content?: Content
  readonly hasType: boolean
  readonly seq?: string
  readonly producer?: ProducerPosition
  readonly closes: boolean
}

interface AppendResult {
  /** Index after the last append. */
  readonly tail: number
  readonly isDuplicate: boolean
  readonly isClosed: boolean
  /** Last sequence number of the producer. */
  readonly producer?: ProducerPosition
}

interface AppendDecision {
  readonly events: readonly Event[]
  readonly result: AppendResult
  readonly afterRedaction: typeof redactedAppend
}

/** Maximum producers per stream. */
const PRODUCERS_MAX = 1000

/** `next`: index of the next record. */
export function decideAppend(request: AppendRequest, state: StreamState, next: number): AppendDecision {
  const { content, producer, closes, seq } = request
  const known = producer && state.producers.get(producer.id)
  if (known !== undefined && producer!.epoch < known.epoch)
    throw streamError(
      'forbidden',
      `epoch ${producer!.epoch} is stale: the current epoch of the producer is ${known.epoch}`,
      {
        'producer-epoch': String(known.epoch),
      },
    )
  if (known !== undefined && producer!.epoch === known.epoch && producer!.seq <= known.seq)
    return unchanged({ tail: state.tail, isDuplicate: true, isClosed: state.isClosed, producer: known })
  if (state.isClosed) {
    if (content === undefined && producer === undefined)
      return unchanged({ tail: state.tail, isDuplicate: true, isClosed: true })
    throw streamError('conflict', 'the stream is closed', {
      'stream-closed': 'true',
      'stream-next-offset': toOffset(state.tail),
    })
  }
  if (content !== undefined && !request.hasType) throw streamError('conflict', 'the stream has another content type')
  if (producer !== undefined) checkPosition(producer, known, state)
  if (seq !== undefined && state.seq !== undefined && seq <= state.seq)
    throw streamError('conflict', `Stream-Seq ${seq} does not come after ${state.seq}`)
  const appended = content && {
    content,
    ...(seq !== undefined && { seq }),
    ...(producer !== undefined && { producer }),
  }
  return {
    events: [...(appended === undefined ? [] : [appendEvent(appended)]), ...(closes ? closeEvents(producer) : [])],
    result: {
      tail: content === undefined ? state.tail : next + 1,
      isDuplicate: false,
      isClosed: closes,
      ...(producer !== undefined && { producer }),
    },
    afterRedaction: redactedAppend,
  }
}

function unchanged(result: AppendResult): AppendDecision {
  return { events: [], result, afterRedaction: redactedAppend }
}

function checkPosition(
  { epoch, seq }: ProducerPosition,
  known: ProducerPosition | undefined,
  { producers }: StreamState,
): void {
  if (known !== undefined && epoch > known.epoch && seq !== 0) throw wrong('a new epoch begins with Producer-Seq 0')
  const expected = known === undefined || epoch > known.epoch ? 0 : known.seq + 1
  if (seq !== expected)
    throw streamError('conflict', `Producer-Seq ${seq} leaves a gap: ${expected} comes next`, {
      'producer-expected-seq': String(expected),
      'producer-received-seq': String(seq),
    })
  if (known === undefined && producers.size >= PRODUCERS_MAX)
    throw streamError('quota_exceeded', `the stream has ${PRODUCERS_MAX} producers, which is the limit`)
}
