/**
 * Workers, and until when each is to be waited for. A claim names its worker, and renewing is one message, whatever the worker
 * holds.
 */
import { ServedComponents } from '../shared/served-components.ts'
import type { Layout, Spot } from './layout.ts'
import type { Link } from './link.ts'

interface OwnerEntry {
  readonly owner: string
  readonly until: number
  /** What it serves, where it says so. */
  readonly components?: readonly string[]
}

export class Owners {
  readonly #link: Link
  readonly #layout: Layout
  readonly #until = new Map<string, number>()
  readonly served = new ServedComponents()

  constructor(link: Link, layout: Layout) {
    this.#link = link
    this.#layout = layout
  }

  /** A message about a worker, from whichever node. */
  hear(head: string): void {
    const { owner, until, components } = JSON.parse(head) as OwnerEntry
    if (until >= this.until(owner)) this.served.note(owner, until, components)
    this.#until.set(owner, Math.max(until, this.until(owner)))
  }

  /** As far as this node has heard; 0 of one who never renewed. */
  until(owner: string): number {
    return this.#until.get(owner) ?? 0
  }

  /** As the servers know it now. */
  async latest(owner: string): Promise<number> {
    const message = await this.#link.last(this.#spot(owner))
    if (message !== undefined) this.hear(message.head)
    return this.until(owner)
  }

  async renew(entry: OwnerEntry): Promise<void> {
    const head = JSON.stringify(entry)
    await this.#link.publish({ ...this.#spot(entry.owner), head })
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
