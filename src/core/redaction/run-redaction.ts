/** Redacts the events of one run. Matches texts across deltas, separately per message. */
import { encodeEvent, type EncodedEvent } from '../execution/emission.ts'
import type { Actor, Event, EventType } from '../model/event.ts'
import { actorKey } from '../structure/actors.ts'
import { eventOf } from '../model/record.ts'
import type { SerializeBounds } from '../model/serialize.ts'
import type { RedactOptions } from './redaction.ts'
import type { Redactor } from './redactor.ts'
import { TextStream } from './text-stream.ts'

/** Where deltas have their text, and what tells the streams of one actor apart. */
const DELTAS: Partial<Record<EventType, { readonly text: string; readonly id: string }>> = {
  'text.delta': { text: 'text', id: 'message' },
  'reasoning.delta': { text: 'text', id: 'message' },
  'tool.drafted': { text: 'delta', id: 'call' },
}

/** Streams of one run that are matched at once; the oldest one makes room for another. */
const STREAMS_MAX = 256

interface Stream {
  readonly actor: string
  readonly text: TextStream
  /** The last of its deltas. */
  event: Event
  /** Nothing but deltas came from its actor since. */
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

  /** Redacts by the rules of a component that is called, too, from now on. */
  include(options: RedactOptions): void {
    this.#redactor = this.#redactor.with(options)
    for (const { text } of this.#streams.values()) text.matcher = this.#redactor.matcher
  }

  /** A redacted event, its data as JSON. */
  event(event: Event): Event {
    return this.#redactor.event(eventOf(encodeEvent(event, this.#bounds).body))
  }

  /** The redacted events to append for an emission: the actor's held text comes first. */
  push(encoded: EncodedEvent): EncodedEvent[] {
    const event = eventOf(encoded.body)
    const delta = DELTAS[event.type]
    if (delta !== undefined && !this.#redactor.matcher.isEmpty) return this.#pushDelta(event, delta)
    if (event.type === 'upstream.received') return [this.#encoded(withoutData(event))]
    const buffered = this.settle(event.actor)
    if (event.type === 'text.completed' || event.type === 'reasoning.completed')
      this.#streams.delete(keyOf(event, `${event.type.split('.')[0]}.delta`, event.data.message))
    return [...buffered, this.#encoded(this.#redactor.event(event))]
  }

  /** Releases the held text of an actor: something else is about to come from it. */
  settle(actor: Actor | undefined): EncodedEvent[] {
    const streams = this.#of(actor)
    for (const stream of streams) stream.isCurrent = false
    return this.#flush(streams)
  }

  /** Releases the held text of an actor that has come to its end. */
  end(actor: Actor | undefined): EncodedEvent[] {
    const buffered = this.settle(actor)
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

/** A secret may be cut into several events of an upstream, so that only what is derived from them can be redacted. */
function withoutData({
  data: { data: _data, ...data },
  ...event
}: Extract<Event, { type: 'upstream.received' }>): Event {
  return { ...event, data }
}

function keyOf({ actor }: Event, type: string, id: unknown): string {
  return JSON.stringify([actorKey(actor), type, id])
}
