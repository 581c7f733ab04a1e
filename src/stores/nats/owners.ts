/**
 * Workers, and until when each is to be waited for. A claim names its worker, and renewing is one message, whatever the worker
 * holds.
 */
import type { Layout, Spot } from './layout.ts'
import type { Link } from './link.ts'

interface OwnerEntry {
  readonly owner: string
  readonly until: number
}

export class Owners {
  readonly #link: Link
  readonly #layout: Layout
  readonly #until = new Map<string, number>()

  constructor(link: Link, layout: Layout) {
    this.#link = link
    this.#layout = layout
  }

  /** A message about a worker, from whichever node. */
  hear(head: string): void {
    const { owner, until } = JSON.parse(head) as OwnerEntry
    this.#until.set(owner, Math.max(until, this.until(owner)))
  }

  /** As far as this node has heard; 0 of one who never renewed. */
  until(owner: string): number {
    return this.#until.get(owner) ?? 0
  }

  /** As the servers know it now. */
  async latest(owner: string): Promise<number> {
    const { stream, subject } = this.#spot(owner)
    const message = await this.#link.last(stream, subject)
    if (message !== undefined) this.hear(message.head)
    return this.until(owner)
  }

  async renew(owner: string, until: number): Promise<void> {
    const head = JSON.stringify({ owner, until } satisfies OwnerEntry)
    await this.#link.publish({ subject: this.#spot(owner).subject, head })
    this.hear(head)
  }

  /** Those that are heard of in time. */
  atWork(now: number): string[] {
    return [...this.#until].filter(([, until]) => until > now).map(([owner]) => owner)
  }

  /** Forgets those that were last heard of long ago, and hold nothing. */
  async sweep(before: number, holds: (owner: string) => boolean): Promise<void> {
    for (const [owner, until] of this.#until) {
      if (until > before || holds(owner)) continue
      const { stream, subject } = this.#spot(owner)
      await this.#link.purge(stream, subject)
      this.#until.delete(owner)
    }
  }

  #spot(owner: string): Spot {
    return this.#layout.state('owner', owner)
  }
}
