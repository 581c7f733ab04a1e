/**
 * Appends. Each run with buffered records has one message under way; it holds everything that was buffered when the previous
 * one was acknowledged. The batch size therefore adapts to the load, and a lone event does not wait.
 */
import { runNotFound } from '../../../core/model/errors.ts'
import { isFinished } from '../../../core/model/run.ts'
import type { BatchWriter, Part } from '../../shared/batch-writer.ts'
import type { CurrentRun, RunMessages, Step } from './run-messages.ts'
import { claimedAgain, expectsEvent, hasEnded } from '../../shared/refusals.ts'

export interface CommitsOptions {
  readonly messages: RunMessages
  /** The run's last known state, if cached. */
  readonly known: (id: string) => Promise<CurrentRun | undefined>
  /** How long a message is retried while the servers are unreachable. */
  readonly outageTimeoutMs: number
}

export class Commits {
  readonly #options: CommitsOptions
  readonly #working = new Map<BatchWriter, Promise<void>>()
  #nextTick: Promise<void> | undefined

  constructor(options: CommitsOptions) {
    this.#options = options
  }

  appended(writer: BatchWriter): void {
    if (!this.#working.has(writer)) this.#working.set(writer, this.#work(writer))
  }

  /**
   * Deferred, so that everything appended in this tick of the event loop joins. All runs start together, so their messages are
   * sent in one write.
   */
  #tick(): Promise<void> {
    this.#nextTick ??= new Promise((resolve) =>
      setImmediate(() => {
        this.#nextTick = undefined
        resolve()
      }),
    )
    return this.#nextTick
  }

  /** Resolves when nothing is buffered or under way. */
  async idle(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working.values())
  }

  async #work(writer: BatchWriter): Promise<void> {
    await this.#tick()
    // Without it the commit reads the run itself, and reports what fails.
    let known = await this.#options.known(writer.id).catch(() => undefined)
    for (let part = writer.take(); part.count > 0; part = writer.take()) {
      try {
        known = await this.#commit(part, known)
        writer.settle(part.first + part.count)
      } catch (cause) {
        writer.refuse(cause)
      }
    }
    this.#working.delete(writer)
  }

  async #commit(part: Part, known: CurrentRun | undefined): Promise<CurrentRun | undefined> {
    const { messages, outageTimeoutMs } = this.#options
    const bytes = Buffer.from(part.text)
    const decide = (current: CurrentRun | undefined): Step => {
      expectToFit(part, current)
      const { change, ends, first, count } = part
      return {
        ...(ends && { change: { lease: undefined } }),
        ...(change && { description: { ...current!.description, run: change } }),
        records: { first, count, bytes },
      }
    }
    return (await messages.change(part.writer.id, decide, { known, timeoutMs: outageTimeoutMs })).current
  }
}

/** Refuses a batch as a whole if epoch or index do not match (LOG-1, LOG-3, LOG-4). */
function expectToFit({ writer: { id, epoch }, first }: Part, current: CurrentRun | undefined): void {
  if (current === undefined) throw runNotFound(id)
  const { head } = current
  if (isFinished(head.status)) throw hasEnded(id)
  if (head.epoch !== epoch) throw claimedAgain(id, head.epoch, epoch)
  if (head.next !== first) throw expectsEvent(id, head.next, first)
}
