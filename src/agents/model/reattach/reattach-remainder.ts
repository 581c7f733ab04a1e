/** Turns a fetched response that can no longer be streamed into the events that its stream would have had left. */
import type { ResponseEvent } from './reattach-api.ts'

/** The fields of an OpenAI response that are used. */
export interface FetchedResponse {
  readonly id: string
  readonly status: string
  readonly output: readonly OutputItem[]
}

interface OutputItem {
  readonly type: string
  readonly id?: string
  readonly content?: readonly { readonly type: string; readonly text?: string }[]
  readonly arguments?: string
  readonly summary?: readonly { readonly text: string }[]
}

/** A stream event about a piece of an item. */
interface PieceEvent extends ResponseEvent {
  readonly output_index?: number
  readonly content_index?: number
  readonly summary_index?: number
  readonly delta?: string
}

/** Tracks what a client has already received of a response. */
export class ReceivedResponse {
  /** Characters per piece. */
  readonly #pieces = new Map<string, number>()

  note(event: PieceEvent): void {
    const key = keyOf(event)
    this.#pieces.set(key, (this.#pieces.get(key) ?? 0) + (event.delta?.length ?? 0))
  }

  has(event: PieceEvent): boolean {
    return this.#pieces.has(keyOf(event))
  }

  /** The part of a piece that is still missing. */
  rest({ delta = '', ...event }: PieceEvent): string {
    return delta.slice(this.#pieces.get(keyOf(event)) ?? 0)
  }
}

function keyOf({ type, output_index, content_index, summary_index }: PieceEvent): string {
  return [type, output_index, content_index, summary_index].join()
}

const ENDS: ReadonlyMap<string, string> = new Map([
  ['completed', 'response.completed'],
  ['incomplete', 'response.incomplete'],
  ['failed', 'response.failed'],
])

/** Terminal event types; a stream may also end with an error of its own. */
export function isEnd(type: string): boolean {
  return type === 'error' || [...ENDS.values()].includes(type)
}

/** The terminal event type; undefined while it is being generated. */
export function endOf({ status }: FetchedResponse): string | undefined {
  return ENDS.get(status)
}

export function* remainder(
  response: FetchedResponse,
  received: ReceivedResponse,
  after: number,
): Generator<ResponseEvent> {
  let sequence_number = after
  for (const event of eventsOf(response)) {
    if (event.delta === undefined ? received.has(event) : received.rest(event) === '') continue
    const delta = event.delta === undefined ? {} : { delta: received.rest(event) }
    yield { ...event, ...delta, sequence_number: ++sequence_number }
  }
}

type Unnumbered = Omit<PieceEvent, 'sequence_number'> & { readonly sequence_number: 0 }

/** The whole response, each piece as one event. */
function* eventsOf(response: FetchedResponse): Generator<Unnumbered> {
  yield streamEvent('response.created', { response })
  for (const [output_index, item] of response.output.entries()) {
    const about = { output_index, item_id: item.id }
    yield streamEvent('response.output_item.added', { output_index, item: inProgress(item) })
    for (const [content_index, { type, text }] of (item.content ?? []).entries())
      if (type === 'output_text')
        yield streamEvent('response.output_text.delta', { ...about, content_index, delta: text })
    for (const [summary_index, { text }] of (item.summary ?? []).entries()) {
      yield streamEvent('response.reasoning_summary_part.added', { ...about, summary_index })
      yield streamEvent('response.reasoning_summary_text.delta', { ...about, summary_index, delta: text })
      yield streamEvent('response.reasoning_summary_part.done', { ...about, summary_index })
    }
    if (item.type === 'function_call')
      yield streamEvent('response.function_call_arguments.delta', { ...about, delta: item.arguments })
    yield streamEvent('response.output_item.done', { output_index, item })
  }
  yield streamEvent(endOf(response)!, { response })
}

/** The item before it had content. */
function inProgress(item: OutputItem): OutputItem {
  return { ...item, ...(item.arguments !== undefined && { arguments: '' }) }
}

function streamEvent(type: string, data: object): Unnumbered {
  return { type, sequence_number: 0, ...data }
}
