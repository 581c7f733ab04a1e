/**
 * Idempotency keys: which run a key of an owner stands for (RUN-4). A key is taken before its run is created, by whoever is first.
 * When that run does not come, whoever wants the key makes sure that it never will, and takes the key over.
 */
import type { Layout, Spot } from './layout.ts'
import type { Link } from './link.ts'

export interface KeyEntry {
  readonly id: string
  readonly fingerprint: string
}

export interface Key extends KeyEntry {
  readonly seq: number
}

export class Keys {
  readonly #link: Link
  readonly #layout: Layout

  constructor(link: Link, layout: Layout) {
    this.#link = link
    this.#layout = layout
  }

  spot(owner: string, key: string): Spot {
    return this.#layout.state('key', owner, key)
  }

  async find(owner: string, key: string): Promise<Key | undefined> {
    const message = await this.#link.last(this.spot(owner, key))
    return message && { ...(JSON.parse(message.head) as KeyEntry), seq: message.seq }
  }

  /** True when it stands for this run now; false when somebody else was faster. `known`: what it stood for, in vain. */
  async take(owner: string, key: string, entry: KeyEntry, known: Key | undefined): Promise<boolean> {
    const head = JSON.stringify(entry)
    const published = await this.#link.publish({ ...this.spot(owner, key), head, expected: known?.seq ?? 0 })
    return published.kind === 'done' || (await this.find(owner, key))?.id === entry.id
  }

  /** A key goes with its run. One that was taken over stays. */
  async free(owner: string, key: string, id: string): Promise<void> {
    const known = await this.find(owner, key)
    const { stream, subject } = this.spot(owner, key)
    if (known?.id === id) await this.#link.purge(stream, subject, known.seq + 1)
  }
}
