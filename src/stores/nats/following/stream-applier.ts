/** Applies stream messages to the run index and emits hints to subscribers. */
import { detailOf } from '../../../core/model/errors.ts'
import type { Hints } from '../../../core/delivery/hints.ts'
import type { Slice } from '../../../core/model/slice.ts'
import { isFinished } from '../../../core/model/run.ts'
import type { Alarms } from './alarms.ts'
import type { MessageIndex } from '../log/message-index.ts'
import type { NatsDocuments } from '../state/documents.ts'
import { decodeHead, type Head } from '../log/head.ts'
import { isBarrier, type Layout, tokenIn } from '../layout.ts'
import type { Owners } from '../state/owners.ts'
import type { NatsRunIndex } from './run-index.ts'
import type { Tip } from '../log/run-messages.ts'

export interface StreamApplierOptions {
  readonly index: NatsRunIndex
  readonly hints: Hints
  readonly layout: Layout
  readonly alarms: Alarms
  readonly messageIndex: MessageIndex
  readonly documents: NatsDocuments
  readonly owners: Owners
  readonly isClaimable: (head: Head) => boolean
}

export class StreamApplier {
  readonly #options: StreamApplierOptions
  /** Messages that existed when the store was opened, until all of them have arrived. */
  #found: Tip[] | undefined = []

  constructor(options: StreamApplierOptions) {
    this.#options = options
  }

  /** Handles a message of a run, from any node. */
  readonly receive = (subject: string, text: string, seq: number): void => {
    const { index, messageIndex } = this.#options
    // Most messages are this node's own and already known. For an id that differs from its token the lookup misses, and the
    // message is decoded.
    if (isBarrier(subject) || (index.get(tokenIn(subject))?.seq ?? 0) >= seq) return
    const head = this.#decode(subject, text)
    if (head === undefined) return
    if (head.tombstone === undefined) messageIndex.extend(head.id, head, seq)
    else messageIndex.forget(head.id)
    if (this.#found === undefined) this.apply({ head, seq }, undefined)
    else this.#found.push({ head, seq })
  }

  readonly receiveState = (subject: string, head: string, seq: number): void => {
    const { documents, owners, alarms } = this.#options
    const kind = subject.split('.')[3]
    try {
      if (kind === 'document') documents.receive(head, seq)
      else if (kind === 'owner') owners.receive(head)
    } catch (cause) {
      alarms.foreign(subject, detailOf(cause))
    }
  }

  /** Called when all existing messages have arrived. Applies them in creation order, not in the order of last messages. */
  applyInitial(): void {
    const found = this.#found ?? []
    this.#found = undefined
    found.sort((a, b) => a.head.number - b.head.number || a.seq - b.seq)
    for (const tip of found) {
      const { fault } = this.#options.index.apply(tip)
      if (fault !== undefined) this.#quarantine(tip.head.id, fault)
    }
  }

  /** Applies a message to the index and emits hints. */
  apply(tip: Tip, slice: Slice | undefined): void {
    const { index, hints, isClaimable } = this.#options
    const { isNew, before, fault } = index.apply(tip)
    const { head } = tip
    if (fault !== undefined) return this.#quarantine(head.id, fault)
    if (!isNew || head.tombstone !== undefined) return
    const isLeft = before === undefined || (before.lease !== undefined && head.lease === undefined)
    const claimable = isLeft && isClaimable(head)
    const stop = head.stopped && before?.stopped !== true
    if (head.next > (before?.next ?? 0) || stop || claimable)
      hints.give({
        run: head.id,
        next: head.next,
        ...(slice && { slice }),
        ...(stop && { stop }),
        ...(claimable && { claimable }),
      })
    if (head.lane === undefined || !isFinished(head.status)) return
    const nextInLane = index.headOfLane(head.lane)
    if (nextInLane !== undefined && isClaimable(nextInLane.head))
      hints.give({ run: nextInLane.id, next: nextInLane.head.next, claimable: true })
  }

  /** Invalidates the known state of a run. Followers find out when they read on. */
  retract(id: string): void {
    this.#options.messageIndex.forget(id)
    this.#options.hints.give({ run: id, next: Infinity })
  }

  /** Blocks reads and writes of the run. */
  #quarantine(id: string, fault: string): void {
    this.#options.alarms.quarantine(id, fault)
    this.retract(id)
  }

  /** Undefined for a message whose subject does not match its run, or that Holdfast did not write. */
  #decode(subject: string, text: string): Head | undefined {
    const { layout, alarms } = this.#options
    try {
      const head = decodeHead(text)
      if (head.id === tokenIn(subject) || layout.run(head.id).subject === subject) return head
      alarms.foreign(subject, `it names run ${head.id}`)
    } catch (cause) {
      alarms.foreign(subject, detailOf(cause))
    }
    return undefined
  }
}
