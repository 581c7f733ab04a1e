/**
 * Workers and the expiry of their leases. A lease names its worker, so a renewal is one message however many runs the worker holds.
 * Stored messages and subjects call a worker `owner`.
 */
import { ServedComponents } from '../../shared/served-components.ts'
import type { Layout, SubjectAddress } from '../layout.ts'
import type { JetStream } from '../connection/jetstream.ts'

interface OwnerEntry {
  readonly owner: string
  readonly until: number
  /** The components it serves, if it reports them. */
  readonly components?: readonly string[]
}

export class Owners {
  readonly #jetstream: JetStream
  readonly #layout: Layout
  readonly #until = new Map<string, number>()
  readonly served = new ServedComponents()

  constructor(jetstream: JetStream, layout: Layout) {
    this.#jetstream = jetstream
    this.#layout = layout
  }

  /** Handles a message about a worker, from any node. */
  receive(head: string): void {
    const { owner, until, components } = JSON.parse(head) as OwnerEntry
    if (until >= this.until(owner)) this.served.note(owner, until, components)
    this.#until.set(owner, Math.max(until, this.until(owner)))
  }

  /** As known on this node; 0: never renewed. */
  until(owner: string): number {
    return this.#until.get(owner) ?? 0
  }

  /** According to the servers. */
  async latest(owner: string): Promise<number> {
    const message = await this.#jetstream.last(this.#address(owner))
    if (message !== undefined) this.receive(message.head)
    return this.until(owner)
  }

  async renew(entry: OwnerEntry): Promise<void> {
    const head = JSON.stringify(entry)
    await this.#jetstream.publish({ ...this.#address(entry.owner), head })
    this.receive(head)
  }

  /** Workers whose leases have not expired. */
  atWork(now: number): string[] {
    return [...this.#until].filter(([, until]) => until > now).map(([owner]) => owner)
  }

  /** Removes workers that hold nothing and have not renewed for a long time. */
  async sweep(before: number, holds: (owner: string) => boolean): Promise<void> {
    for (const [owner, until] of this.#until) {
      if (until > before || holds(owner)) continue
      const { stream, subject } = this.#address(owner)
      await this.#jetstream.purge(stream, subject)
      this.#until.delete(owner)
    }
  }

  #address(owner: string): SubjectAddress {
    return this.#layout.state('owner', owner)
  }
}
