/**
 * Idempotency keys: which run an owner's key belongs to (RUN-4). A key is claimed before its run is created; the first claim
 * wins. If that run never appears, the next claimant voids its creation and takes the key over.
 */
import type { ReadBarriers } from '../log/read-barriers.ts'
import type { Layout, SubjectAddress } from '../layout.ts'
import type { JetStream } from '../connection/jetstream.ts'

export interface KeyEntry {
  readonly id: string
  readonly fingerprint: string
}

export interface Key extends KeyEntry {
  readonly seq: number
}

export class Keys {
  readonly #jetstream: JetStream
  readonly #layout: Layout
  readonly #barriers: ReadBarriers

  constructor(jetstream: JetStream, layout: Layout, barriers: ReadBarriers) {
    this.#jetstream = jetstream
    this.#layout = layout
    this.#barriers = barriers
  }

  address(owner: string, key: string): SubjectAddress {
    return this.#layout.state('key', owner, key)
  }

  /** Undefined only if no server has it. */
  findSurely(owner: string, key: string): Promise<Key | undefined> {
    return this.#barriers.find(this.address(owner, key), () => this.find(owner, key))
  }

  /** For `take`, which the servers refuse if they have the key after all. */
  async find(owner: string, key: string): Promise<Key | undefined> {
    const message = await this.#jetstream.last(this.address(owner, key))
    return message && { ...(JSON.parse(message.head) as KeyEntry), seq: message.seq }
  }

  /** True if the key now belongs to this run; false if another node was faster. `known`: the voided entry to replace. */
  async take(owner: string, key: string, entry: KeyEntry, known: Key | undefined): Promise<boolean> {
    const head = JSON.stringify(entry)
    const published = await this.#jetstream.publish({ ...this.address(owner, key), head, expected: known?.seq ?? 0 })
    return published.kind === 'done' || (await this.find(owner, key))?.id === entry.id
  }

  /** Removes the key together with its run. A key that was taken over stays. */
  async free(owner: string, key: string, id: string): Promise<void> {
    const known = await this.find(owner, key)
    const { stream, subject } = this.address(owner, key)
    if (known?.id === id) await this.#jetstream.purge(stream, subject, known.seq + 1)
  }
}
