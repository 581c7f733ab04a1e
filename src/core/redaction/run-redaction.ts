/** Redacts the events of one run. Matches texts across deltas, separately per message. */
import { encodeEvent, type EncodedEvent } from '../execution/emission.ts'
import type { Actor, Event, EventType } from '../model/event.ts'
import { actorKey } from '../structure/actors.ts'
import { eventOf } from '../model/record.ts'
import type { SerializeBounds } from '../model/serialize.ts'
import type { RedactOptions } from './redaction.ts'
import type { Redactor } from './redactor.ts'
import { TextStream } from './text-stream.ts'

/** Text field of each delta type, and the field that distinguishes the streams of one actor. */
const DELTAS: Partial<Record<EventType, { readonly text: string; readonly id: string }>> = {
  'text.delta': { text: 'text', id: 'message' },
  'reasoning.delta': { text: 'text', id: 'message' },
  'tool.drafted': { text: 'delta', id: 'call' },
}

/** Maximum streams of one run that are matched concurrently. Beyond it, the oldest is flushed. */
const STREAMS_MAX = 256

interface Stream {
  readonly actor: string
  readonly text: TextStream
  /** The last delta. */
  event: Event
  /** The actor has emitted nothing but deltas since. */
  isCurrent: boolean
}

export class RunRedaction {
  #redactor: Redactor
  readonly #bounds: SerializeBounds
  /** Oldest first. */
  readonly #streams = new Map<string, Stream>()

  constructor(redactor: Redactor, bounds: SerializeBounds) {
    this.#redactor = redactor
    this.#bounds = bounds
  }

  /** Also redacts by the rules of a called component from now on. */
  include(options: RedactOptions): void {
    this.#redactor = this.#redactor.with(options)
    for (const { text } of this.#streams.values()) text.matcher = this.#redactor.matcher
  }

  /** Redacts an event. Its data must be JSON. */
  event(event: Event): Event {
    return this.#redactor.event(eventOf(encodeEvent(event, this.#bounds).body))
  }

  /** The redacted events to append for an emission. Buffered text of the actor comes first. */
  push(encoded: EncodedEvent): EncodedEvent[] {
    const event = eventOf(encoded.body)
    const delta = DELTAS[event.type]
    if (delta !== undefined && !this.#redactor.matcher.isEmpty) return this.#pushDelta(event, delta)
    if (event.type === 'upstream.received') return [this.#encoded(withoutData(event))]
    const buffered = this.flushBuffered(event.actor)
    if (event.type === 'text.completed' || event.type === 'reasoning.completed')
      this.#streams.delete(keyOf(event, `${event.type.split('.')[0]}.delta`, event.data.message))
    return [...buffered, this.#encoded(this.#redactor.event(event))]
  }

  /** Flushes the buffered text of an actor before another event of it. */
  flushBuffered(actor: Actor | undefined): EncodedEvent[] {
    const streams = this.#of(actor)
    for (const stream of streams) stream.isCurrent = false
    return this.#flush(streams)
  }

  /** Flushes the buffered text of an actor that has ended. */
  end(actor: Actor | undefined): EncodedEvent[] {
    const buffered = this.flushBuffered(actor)
    for (const [key, stream] of this.#streams) if (stream.actor === actorKey(actor)) this.#streams.delete(key)
    return buffered
  }

  endAll(): EncodedEvent[] {
    const buffered = this.#flush([...this.#streams.values()])
    this.#streams.clear()
    return buffered
  }

  #pushDelta(event: Event, delta: { readonly text: string; readonly id: string }): EncodedEvent[] {
    const data = event.data as Readonly<Record<string, unknown>>
    const key = keyOf(event, event.type, data[delta.id])
    const stream = this.#streams.get(key)
    // A new message follows the text before it; interleaved messages do not cut each other off.
    const before = stream?.isCurrent === true ? [] : this.#flush(this.#of(event.actor))
    const own = stream ?? this.#open(key, event, before)
    own.event = event
    own.isCurrent = true
    const text = own.text.push(String(data[delta.text]))
    return text === '' ? before : [...before, this.#released(event, text)]
  }

  #open(key: string, event: Event, before: EncodedEvent[]): Stream {
    const oldest = this.#streams.size < STREAMS_MAX ? undefined : this.#streams.keys().next().value
    if (oldest !== undefined) {
      before.push(...this.#flush([this.#streams.get(oldest)!]))
      this.#streams.delete(oldest)
    }
    const text = new TextStream(this.#redactor.matcher)
    const stream: Stream = { actor: actorKey(event.actor), text, event, isCurrent: true }
    this.#streams.set(key, stream)
    return stream
  }

  #of(actor: Actor | undefined): Stream[] {
    const whose = actorKey(actor)
    return [...this.#streams.values()].filter((stream) => stream.actor === whose)
  }

  #flush(streams: readonly Stream[]): EncodedEvent[] {
    return streams.flatMap(({ event, text }) => {
      const released = text.flush()
      return released === '' ? [] : [this.#released(event, released)]
    })
  }

  #released(event: Event, text: string): EncodedEvent {
    const data = { ...event.data, [DELTAS[event.type]!.text]: text }
    return this.#encoded(this.#redactor.hooked({ ...event, data } as Event))
  }

  #encoded(event: Event): EncodedEvent {
    return encodeEvent(event, this.#bounds)
  }
}

/** A secret may be split over several events of an upstream, so only the derived events can be redacted. */
function withoutData({
  data: { data: _data, ...data },
  ...event
}: Extract<Event, { type: 'upstream.received' }>): Event {
  return { ...event, data }
}

function keyOf({ actor }: Event, type: string, id: unknown): string {
  return JSON.stringify([actorKey(actor), type, id])
}
