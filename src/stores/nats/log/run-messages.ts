/**
 * Reads a run's last message and writes its next one. JetStream accepts a message only directly after the one that its writer
 * saw (LOG-4), so every change is a compare-and-set.
 */
import { storeUnavailable } from '../../../core/model/errors.ts'
import type { Slice } from '../../../core/model/slice.ts'
import { isFinished } from '../../../core/model/run.ts'
import { delayUntilAbort } from '../../shared/delay.ts'
import type { Alarms } from '../following/alarms.ts'
import type { ReadBarriers } from './read-barriers.ts'
import { MessageIndex, encodeBack, listedAt, type LoadHead, type MessagePosition, positionOf } from './message-index.ts'
import { VerifiedReads, type FullMessage } from './verified-reads.ts'
import { type Description, encodeHead, type Head, headOfRun, keptBytesOf } from './head.ts'
import type { Layout } from '../layout.ts'
import { COMMAND_MS, type JetStream } from '../connection/jetstream.ts'
import type { Message } from '../connection/message.ts'
import { LruCache } from './lru-cache.ts'

export interface Tip {
  readonly head: Head
  readonly seq: number
}

/** A run as its last message describes it. */
export interface CurrentRun extends Tip {
  readonly description: Description
}

/** The changes that the next message makes. */
export interface Step {
  readonly change?: Partial<Pick<Head, 'epoch' | 'lease' | 'stopped' | 'first' | 'tombstone' | 'number'>>
  /** Bytes of earlier messages that are kept. Default: all of them; none with `rewrite`. */
  readonly earlierBytes?: number
  readonly description?: Description
  readonly records?: Pick<Slice, 'first' | 'count' | 'bytes'>
  /** Everything before this message can be purged. */
  readonly rewrite?: boolean
}

/** Called again after a lost race. Undefined: nothing to do. `tip` is set for removed runs too. */
export type Decide = (
  current: CurrentRun | undefined,
  tip: Tip | undefined,
) => Step | undefined | Promise<Step | undefined>

export interface ChangeResult {
  /** The run after the change, or unchanged if there was nothing to do. */
  readonly current: CurrentRun | undefined
  readonly written: boolean
}

export interface ChangeOptions {
  /** The last known state; `new`: never seen. Default: read from the leader. */
  readonly known?: CurrentRun | 'new' | undefined
  readonly timeoutMs?: number
}

interface WrittenMessage {
  readonly id: string
  readonly name: string
  readonly before: Tip | undefined
  readonly step: Step
}

/** Maximum lost races. */
const TRIES_MAX = 200
const READS_MAX = 5
const RETRY_DELAY_MS_MAX = 100
/** Larger content is sent in parts: a large message delays all others of its stream. */
const CONTENT_MAX = 512 * 1024
/** Reserved for headers within the server's message limit. */
const HEADERS_MAX = 32 * 1024
const DESCRIPTIONS_CHARS_MAX = 16 * 1024 * 1024

export interface RunMessagesOptions {
  readonly jetstream: JetStream
  readonly layout: Layout
  /** Returns a unique message name. */
  readonly name: () => string
  readonly onWritten: (tip: Tip, slice: Slice | undefined) => void
  /** The last message of a run that this node knows of. */
  readonly lastKnown: (id: string) => Tip | undefined
  readonly barriers: ReadBarriers
  readonly alarms: Alarms
}

export class RunMessages {
  readonly messageIndex = new MessageIndex()
  readonly #options: RunMessagesOptions
  readonly #reads: VerifiedReads
  readonly #descriptions = new LruCache<{ readonly chars: number; readonly value: Description }>(
    DESCRIPTIONS_CHARS_MAX,
    ({ chars }) => chars,
  )

  constructor(options: RunMessagesOptions) {
    this.#options = options
    this.#reads = new VerifiedReads(options)
  }

  /** Invalidates everything that was cached. */
  forgetAll(): void {
    this.messageIndex.forgetAll()
    this.#descriptions.clear()
    this.#reads.forgetAll()
  }

  /** Index of the earliest record that exists in the stream, whatever the run says. */
  async earliest(id: string): Promise<number | undefined> {
    const { jetstream, layout } = this.#options
    const message = await jetstream.earliest(layout.run(id))
    return message && (await this.#reads.last(id, message)).from
  }

  /** The leader's last message, or a newer one that this node knows of; also of a removed run. */
  async tip(id: string, timeoutMs = COMMAND_MS): Promise<(Tip & { readonly message?: Message }) | undefined> {
    const { jetstream, layout, lastKnown, alarms } = this.#options
    alarms.expectSound(id)
    const message = await jetstream.last(layout.run(id), timeoutMs)
    const known = lastKnown(id)
    if (known !== undefined && known.seq > (message?.seq ?? 0)) return { head: known.head, seq: known.seq }
    return message && { head: await this.#reads.last(id, message), seq: message.seq, message }
  }

  /** The last message after the leader has applied everything acknowledged before. */
  settledTip(id: string): Promise<Tip | undefined> {
    const { barriers, layout } = this.#options
    return barriers.readBehind(layout.run(id), () => this.tip(id))
  }

  async read(id: string): Promise<CurrentRun | undefined> {
    return (await this.#find(id))?.current
  }

  /** Undefined if there is no message about the run, and none is missing. */
  #find(id: string): Promise<{ tip: Tip; current?: CurrentRun | undefined } | undefined> {
    const { barriers, layout } = this.#options
    return barriers.find(layout.run(id), async () => {
      const { tip, current } = await this.#readBoth(id, COMMAND_MS)
      return tip && { tip, current }
    })
  }

  /** A referenced message is missing if the run was trimmed after it was read; then there is a newer one. */
  async #readBoth(id: string, timeoutMs: number): Promise<{ tip?: Tip | undefined; current?: CurrentRun | undefined }> {
    let described = 0
    for (let tries = 0; tries < READS_MAX; tries++) {
      const tip = await this.tip(id, timeoutMs)
      if (tip === undefined || tip.head.tombstone !== undefined) return { tip }
      described = tip.head.described || tip.seq
      const current = await this.describe(tip, tip.message)
      if (current !== undefined) return { tip, current }
    }
    throw this.#options.alarms.quarantine(id, `no message ${described}, which describes the run`, described)
  }

  /** Undefined if the run was removed. */
  async describe({ head, seq }: Tip, message?: Message): Promise<CurrentRun | undefined> {
    if (head.tombstone !== undefined) return undefined
    const described = head.described || seq
    const key = `${head.id} ${described}`
    const known = this.#descriptions.get(key)
    if (known !== undefined) return { head, seq, description: known.value }
    const { ordinal, from, next, epoch: maxEpoch } = head
    const expected = { isDescription: true, maxEpoch, ...(described === seq && { ordinal, from, next }) }
    const found = await this.#reads.whole(head.id, described, expected, described === seq ? message : undefined)
    if (found === undefined) return undefined
    const text = decoder.decode(found.content.subarray(0, found.head.descriptionBytes))
    const value = JSON.parse(text) as Description
    if (value.run.id !== head.id)
      throw this.#options.alarms.quarantine(head.id, `a description of run ${value.run.id}`, described)
    this.#descriptions.set(key, { chars: text.length, value })
    return { head, seq, description: value }
  }

  /** Compare-and-set loop. */
  async change(id: string, decide: Decide, options: ChangeOptions = {}): Promise<ChangeResult> {
    const { known, timeoutMs = COMMAND_MS } = options
    this.#options.alarms.expectSound(id)
    const name = this.#options.name()
    let current = known === 'new' ? undefined : known
    let tip: Tip | undefined = current
    let isFresh = false
    let isCertain = false
    /**
     * The earliest message after which a message of this node may have been written unnoticed. Set after every refusal, even without
     * a lost reply: after a network partition a message may be delivered twice, and the second copy refused first.
     */
    let refusedAfter: number | undefined
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (!isFresh && (known === undefined || tries > 0)) {
        ;({ tip, current } = await this.#readBoth(id, timeoutMs))
        isFresh = true
        isCertain = false
      }
      const own = refusedAfter !== undefined && tip && (await this.#own(id, tip, refusedAfter, name))
      if (own) return { current: await this.#found(own), written: true }
      let step: Step | undefined
      try {
        step = await decide(current, tip)
      } catch (cause) {
        if (isFresh) throw cause
        continue
      }
      if (step === undefined) {
        if (!isFresh) continue
        if (tip !== undefined || isCertain) return { current, written: false }
        // A command for a run that exists must not fail because a server has not heard of it.
        ;({ tip, current } = (await this.#find(id)) ?? {})
        isCertain = true
        continue
      }
      const published = await this.#write({ id, name, before: tip, step }, current, timeoutMs)
      if (published.kind === 'done') return { current: published.current, written: true }
      refusedAfter ??= tip?.head.ordinal ?? 0
      isFresh = false
      // The winning write may not be visible yet.
      if (tries > 0) await delayUntilAbort(Math.min(tries, RETRY_DELAY_MS_MAX), this.#options.jetstream.signal)
    }
    throw storeUnavailable(`run ${id}: too many concurrent writers; try again`, { retryAfterMs: 1000 })
  }

  #loadFrom(id: string): LoadHead {
    return (position) => this.#reads.head(id, position)
  }

  /** The records at a position; undefined if they were removed. */
  async records(tip: Tip, position: MessagePosition): Promise<Slice | undefined> {
    const found = await this.#reads.whole(tip.head.id, position.seq, { ...position, maxEpoch: tip.head.epoch })
    return found && recordsIn(found)
  }

  /** Positions of the messages with records from an index on, oldest first. */
  positions(id: string, tip: Tip, record: number): Promise<readonly MessagePosition[]> {
    return this.messageIndex.since(id, positionOf(tip.head, tip.seq), record, this.#loadFrom(id))
  }

  async #write(
    { id, name, before, step }: WrittenMessage,
    current: CurrentRun | undefined,
    timeoutMs: number,
  ): Promise<{ readonly kind: 'done'; readonly current: CurrentRun } | { readonly kind: 'stale' }> {
    const { jetstream, layout, onWritten } = this.#options
    const description = step.description ?? current!.description
    const isDescribed = step.description !== undefined || step.rewrite === true
    const text = isDescribed && step.change?.tombstone === undefined ? JSON.stringify(description) : ''
    const described = Buffer.from(text)
    const records = step.records?.bytes ?? EMPTY
    const content = described.length === 0 ? records : Buffer.concat([described, records])
    const parts = await this.#writeParts(id, content)
    const ordinal = step.rewrite || current === undefined ? 1 : current.head.ordinal + 1
    const head: Head = {
      ...(current?.head ?? NEW),
      ...headOfRun(description.run),
      ...step.change,
      name,
      ordinal,
      from: step.records?.first ?? current?.head.next ?? 0,
      next: step.records ? step.records.first + step.records.count : (current?.head.next ?? 0),
      described: isDescribed ? 0 : current!.head.described || current!.seq,
      descriptionBytes: described.length,
      bytes: content.length,
      keptBytes: content.length + (step.earlierBytes ?? (ordinal === 1 ? 0 : keptBytesOf(current!.head))),
      parts,
      back: ordinal === 1 ? [] : await this.#back(id, current!, ordinal),
    }
    const data = parts === undefined ? content : EMPTY
    const draft = { ...layout.run(id), head: encodeHead(head), data, expected: before?.seq ?? 0 }
    const published = await jetstream.publish(draft, timeoutMs)
    if (published.kind === 'stale') return published
    const { seq } = published
    if (isDescribed) this.#descriptions.set(`${id} ${seq}`, { chars: text.length, value: description })
    if (head.tombstone === undefined) this.messageIndex.extend(id, head, seq)
    else this.messageIndex.forget(id)
    // Rewritten records are not new.
    const isNew = step.records !== undefined && head.next > (current?.head.next ?? 0)
    onWritten({ head, seq }, isNew ? { ...step.records, closed: isFinished(head.status) } : undefined)
    return { kind: 'done', current: { head, seq, description } }
  }

  async #writeParts(id: string, content: Uint8Array): Promise<Head['parts']> {
    const { jetstream, layout } = this.#options
    const maxPart = Math.min(CONTENT_MAX, jetstream.maxPayload - HEADERS_MAX)
    if (content.length <= maxPart) return undefined
    const count = Math.ceil(content.length / maxPart)
    const name = this.#options.name()
    await Promise.all(
      Array.from({ length: count }, (_, number) => {
        const data = content.subarray(number * maxPart, (number + 1) * maxPart)
        return jetstream.publish({ ...layout.part(id, name, number), head: '{}', data })
      }),
    )
    return { name, count, bytes: maxPart }
  }

  async #back(id: string, before: Tip, ordinal: number): Promise<number[]> {
    const tip = positionOf(before.head, before.seq)
    return encodeBack(await this.messageIndex.last(id, tip, listedAt(ordinal), this.#loadFrom(id)))
  }

  /** Finds this node's message by its name among those after a position. */
  async #own(id: string, tip: Tip, after: number, name: string): Promise<Tip | undefined> {
    if (tip.head.name === name) return tip
    const load = this.#loadFrom(id)
    const count = tip.head.ordinal - after
    const positions = count < 2 ? [] : await this.messageIndex.last(id, positionOf(tip.head, tip.seq), count, load)
    for (const position of positions.slice(0, -1)) {
      const head = await load(position)
      if (head?.name === name) return { head, seq: position.seq }
    }
    return undefined
  }

  async #found(own: Tip): Promise<CurrentRun | undefined> {
    const { from, next, status } = own.head
    const slice = next > from ? await this.records(own, positionOf(own.head, own.seq)) : undefined
    this.#options.onWritten(own, slice && { ...slice, closed: isFinished(status) })
    return this.describe(own)
  }
}

function recordsIn({ head: { from, next, descriptionBytes }, content }: FullMessage): Slice {
  return { first: from, count: next - from, bytes: content.subarray(descriptionBytes), closed: false }
}

const EMPTY = new Uint8Array()
const decoder = new TextDecoder()

const NEW = { first: 0, epoch: 0, stopped: false, number: 0, described: 0, descriptionBytes: 0 }
