/**
 * The messages of runs: reads a run's last one, and writes its next one. A message is taken only directly after the one that its
 * writer has seen (LOG-4), so every change of a run is decided on what is there.
 */
import { HoldfastError } from '../../core/errors.ts'
import type { Slice } from '../../core/record.ts'
import { isFinished } from '../../core/run.ts'
import { pause } from '../shared/pause.ts'
import type { Barriers } from './barriers.ts'
import { Chains, encodeBack, listedAt, type LoadHead, type Place, placeOf } from './chains.ts'
import { decodeHead, type Description, encodeHead, type Head, headOfRun } from './head.ts'
import type { Layout } from './layout.ts'
import { COMMAND_MS, type Link, type Message } from './link.ts'
import { Recent } from './recent.ts'

/** A message of a run. */
export interface Tip {
  readonly head: Head
  readonly seq: number
}

/** A run as its last message tells it. */
export interface Current extends Tip {
  readonly description: Description
}

/** What the next message changes. */
export interface Step {
  readonly change?: Partial<Pick<Head, 'epoch' | 'lease' | 'stopped' | 'first' | 'gone' | 'number'>>
  readonly description?: Description
  readonly records?: Pick<Slice, 'first' | 'count' | 'bytes'>
  /** Nothing before this message is needed any more. */
  readonly anew?: boolean
}

/** Called again when somebody else was faster. Undefined: nothing is to be done. `tip` is there for a run that is gone, too. */
export type Decide = (
  current: Current | undefined,
  tip: Tip | undefined,
) => Step | undefined | Promise<Step | undefined>

export interface Changed {
  /** The run after the change, or as it is where nothing was done. */
  readonly current: Current | undefined
  readonly written: boolean
}

export interface ChangeOptions {
  /** The run as it was last seen, `new` for one that was never seen; where it is not given, it is read. */
  readonly known?: Current | 'new' | undefined
  readonly patienceMs?: number
}

interface Written {
  readonly id: string
  readonly name: string
  readonly before: Tip | undefined
  readonly step: Step
}

/** How often somebody else may be faster. */
const TRIES_MAX = 200
const READS_MAX = 5
const TURN_MS_MAX = 100
/** Beyond this a message goes in parts: a large one delays all others of its stream. */
const CONTENT_MAX = 512 * 1024
/** Room for headers within what the server takes. */
const HEADERS_MAX = 32 * 1024
const DESCRIPTIONS_CHARS_MAX = 16 * 1024 * 1024
const CONTENTS_BYTES_MAX = 32 * 1024 * 1024
/** About what an entry takes besides its content. */
const ENTRY_BYTES = 1024

export interface RunMessagesOptions {
  readonly link: Link
  readonly layout: Layout
  /** A name that no other message has. */
  readonly name: () => string
  readonly onWritten: (tip: Tip, slice: Slice | undefined) => void
  /** The last message of a run that this node has heard of. */
  readonly heard: (id: string) => Tip | undefined
  readonly barriers: Barriers
}

/** A message with its content, wherever that is. */
interface Whole {
  readonly head: Head
  readonly content: Uint8Array
}

export class RunMessages {
  readonly chains = new Chains()
  readonly #options: RunMessagesOptions
  readonly #descriptions = new Recent<{ readonly chars: number; readonly value: Description }>(
    DESCRIPTIONS_CHARS_MAX,
    ({ chars }) => chars,
  )

  readonly #contents = new Recent<Whole>(CONTENTS_BYTES_MAX, ({ content }) => content.length + ENTRY_BYTES)

  constructor(options: RunMessagesOptions) {
    this.#options = options
  }

  /** By the leader of the stream, or a newer one that was heard of; also of a run that is gone. */
  async tip(id: string, patienceMs = COMMAND_MS): Promise<(Tip & { readonly message?: Message }) | undefined> {
    const { link, layout, heard } = this.#options
    const { stream, subject } = layout.run(id)
    const message = await link.last(stream, subject, patienceMs)
    const known = heard(id)
    if (known !== undefined && known.seq > (message?.seq ?? 0)) return { head: known.head, seq: known.seq }
    return message && { head: decodeHead(message.head), seq: message.seq, message }
  }

  /** Until the leader knows all that was acknowledged before. */
  settle(id: string): Promise<boolean> {
    const { barriers, layout } = this.#options
    return barriers.pass(layout.run(id))
  }

  async read(id: string): Promise<Current | undefined> {
    const { tip, current } = await this.#readBoth(id, COMMAND_MS)
    if (tip !== undefined || !(await this.settle(id))) return current
    return (await this.#readBoth(id, COMMAND_MS)).current
  }

  /** What a message refers to is gone when the run was trimmed after it was read; then there is a newer one. */
  async #readBoth(id: string, patienceMs: number): Promise<{ tip?: Tip | undefined; current?: Current | undefined }> {
    for (let tries = 0; tries < READS_MAX; tries++) {
      const tip = await this.tip(id, patienceMs)
      if (tip === undefined || tip.head.gone !== undefined) return { tip }
      const current = await this.describe(tip, tip.message)
      if (current !== undefined) return { tip, current }
    }
    throw new HoldfastError('unavailable', `run ${id} cannot be read`, { retryAfterMs: 1000 })
  }

  /** Undefined where the run is gone. */
  async describe({ head, seq }: Tip, message?: Message): Promise<Current | undefined> {
    if (head.gone !== undefined) return undefined
    const described = head.described || seq
    const key = `${head.id} ${described}`
    const known = this.#descriptions.get(key)
    if (known !== undefined) return { head, seq, description: known.value }
    const found = await this.content(head.id, described, described === seq ? message : undefined)
    if (found === undefined || found.head.descriptionBytes === 0) return undefined
    const text = decoder.decode(found.content.subarray(0, found.head.descriptionBytes))
    const value = JSON.parse(text) as Description
    this.#descriptions.set(key, { chars: text.length, value })
    return { head, seq, description: value }
  }

  /** All that a message holds; undefined where it is gone. Kept for a while: many subscribers read the same. */
  async content(id: string, seq: number, given?: Message): Promise<Whole | undefined> {
    const key = `${id} ${seq}`
    const known = this.#contents.get(key)
    if (known !== undefined) return known
    const found = await this.#load(id, seq, given)
    if (found !== undefined) this.#contents.set(key, found)
    return found
  }

  async #load(id: string, seq: number, given: Message | undefined): Promise<Whole | undefined> {
    const { link, layout } = this.#options
    const message = given ?? (await link.at(layout.run(id).stream, seq))
    if (message === undefined) return undefined
    const head = decodeHead(message.head)
    if (head.parts === undefined) return { head, content: message.data }
    const { name, count } = head.parts
    const parts = await Promise.all(
      Array.from({ length: count }, (_, number) => {
        const { stream, subject } = layout.part(id, name, number)
        return link.only(stream, subject)
      }),
    )
    const found = parts.flatMap((part) => (part === undefined ? [] : [part.data]))
    return found.length < count ? undefined : { head, content: Buffer.concat(found) }
  }

  /** Reads, decides and writes, until nobody comes in between. */
  async change(id: string, decide: Decide, options: ChangeOptions = {}): Promise<Changed> {
    const { known, patienceMs = COMMAND_MS } = options
    const name = this.#options.name()
    let current = known === 'new' ? undefined : known
    let tip: Tip | undefined = current
    let isFresh = false
    /** The earliest message after which one of ours may have been written without our knowing. */
    let unsureAfter: number | undefined
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (!isFresh && (known === undefined || tries > 0)) {
        ;({ tip, current } = await this.#readBoth(id, patienceMs))
        isFresh = true
      }
      const own = unsureAfter !== undefined && tip && (await this.#own(id, tip, unsureAfter, name))
      if (own) return { current: await this.#found(own), written: true }
      let step: Step | undefined
      try {
        step = await decide(current, tip)
      } catch (cause) {
        if (isFresh) throw cause
        continue
      }
      if (step === undefined) {
        if (isFresh) return { current, written: false }
        continue
      }
      const published = await this.#write({ id, name, before: tip, step }, current, patienceMs)
      if (published.kind === 'done') return { current: published.current, written: true }
      if (published.unsure) unsureAfter ??= tip?.head.place ?? 0
      isFresh = false
      // Who was faster may not be seen yet.
      if (tries > 0) await pause(Math.min(tries, TURN_MS_MAX), this.#options.link.signal)
    }
    throw new HoldfastError('unavailable', `run ${id}: others are always faster`, { retryAfterMs: 1000 })
  }

  readonly #loadFrom = (id: string): LoadHead => {
    const { link, layout } = this.#options
    return async (seq) => {
      const message = await link.at(layout.run(id).stream, seq)
      return message && decodeHead(message.head)
    }
  }

  /** Places of the messages with records from one on, oldest first. */
  places(id: string, tip: Tip, record: number): Promise<readonly Place[]> {
    return this.chains.since(id, placeOf(tip.head, tip.seq), record, this.#loadFrom(id))
  }

  async #write(
    { id, name, before, step }: Written,
    current: Current | undefined,
    patienceMs: number,
  ): Promise<
    { readonly kind: 'done'; readonly current: Current } | { readonly kind: 'stale'; readonly unsure: boolean }
  > {
    const { link, layout, onWritten } = this.#options
    const description = step.description ?? current!.description
    const isDescribed = step.description !== undefined || step.anew === true
    const text = isDescribed && step.change?.gone === undefined ? JSON.stringify(description) : ''
    const described = Buffer.from(text)
    const records = step.records?.bytes ?? EMPTY
    const content = described.length === 0 ? records : Buffer.concat([described, records])
    const parts = await this.#writeParts(id, content)
    const place = step.anew || current === undefined ? 1 : current.head.place + 1
    const head: Head = {
      ...(current?.head ?? NEW),
      ...headOfRun(description.run),
      ...step.change,
      name,
      place,
      from: step.records?.first ?? current?.head.next ?? 0,
      next: step.records ? step.records.first + step.records.count : (current?.head.next ?? 0),
      described: isDescribed ? 0 : current!.head.described || current!.seq,
      descriptionBytes: described.length,
      parts,
      back: place === 1 ? [] : await this.#back(id, current!, place),
    }
    const { subject } = layout.run(id)
    const data = parts === undefined ? content : EMPTY
    const expected = before?.seq ?? 0
    const published = await link.publish({ subject, head: encodeHead(head), data, expected }, patienceMs)
    if (published.kind === 'stale') return published
    const { seq } = published
    if (isDescribed) this.#descriptions.set(`${id} ${seq}`, { chars: text.length, value: description })
    if (head.gone === undefined) this.chains.extend(id, placeOf(head, seq))
    else this.chains.forget(id)
    // Records that were written before are no news.
    const isNew = step.records !== undefined && head.next > (current?.head.next ?? 0)
    onWritten({ head, seq }, isNew ? { ...step.records, closed: isFinished(head.status) } : undefined)
    return { kind: 'done', current: { head, seq, description } }
  }

  async #writeParts(id: string, content: Uint8Array): Promise<Head['parts']> {
    const { link, layout } = this.#options
    const partMax = Math.min(CONTENT_MAX, link.payloadMax - HEADERS_MAX)
    if (content.length <= partMax) return undefined
    const count = Math.ceil(content.length / partMax)
    const name = this.#options.name()
    await Promise.all(
      Array.from({ length: count }, (_, number) => {
        const data = content.subarray(number * partMax, (number + 1) * partMax)
        return link.publish({ subject: layout.part(id, name, number).subject, head: '{}', data })
      }),
    )
    return { name, count }
  }

  async #back(id: string, before: Tip, place: number): Promise<number[]> {
    const tip = placeOf(before.head, before.seq)
    return encodeBack(await this.chains.last(id, tip, listedAt(place), this.#loadFrom(id)))
  }

  /** The message of a name, where it is one of those after a place. */
  async #own(id: string, tip: Tip, after: number, name: string): Promise<Tip | undefined> {
    if (tip.head.name === name) return tip
    const load = this.#loadFrom(id)
    const count = tip.head.place - after
    const places = count < 1 ? [] : await this.chains.last(id, placeOf(tip.head, tip.seq), count, load)
    for (const { seq } of places) {
      const head = await load(seq)
      if (head?.name === name) return { head, seq }
    }
    return undefined
  }

  async #found(own: Tip): Promise<Current | undefined> {
    const found = await this.content(own.head.id, own.seq)
    const { descriptionBytes, from, next, status } = own.head
    const bytes = found?.content.subarray(descriptionBytes)
    this.#options.onWritten(
      own,
      bytes && next > from ? { first: from, count: next - from, bytes, closed: isFinished(status) } : undefined,
    )
    return this.describe(own)
  }
}

const EMPTY = new Uint8Array()
const decoder = new TextDecoder()

const NEW = { first: 0, epoch: 0, stopped: false, number: 0, described: 0, descriptionBytes: 0 }
