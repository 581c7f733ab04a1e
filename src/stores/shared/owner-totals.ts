/** Running usage totals per owner, for stores that count in memory. */
import { type OwnerUsage, storedBytes } from '../../core/model/storage-usage.ts'

/** Amounts to add to an owner's usage; negative for what was removed. */
export type UsageChange = Partial<Omit<OwnerUsage, 'owner'>>

const NOTHING = { runs: 0, logBytes: 0, documents: 0, documentBytes: 0 }

/** Totals of every owner that stores anything. */
export class OwnerTotals {
  readonly #totals = new Map<string, OwnerUsage>()

  add(owner: string, { runs = 0, logBytes = 0, documents = 0, documentBytes = 0 }: UsageChange): void {
    const before = this.of(owner)
    const after: OwnerUsage = {
      owner,
      runs: before.runs + runs,
      logBytes: before.logBytes + logBytes,
      documents: before.documents + documents,
      documentBytes: before.documentBytes + documentBytes,
    }
    if (after.runs === 0 && after.documents === 0) this.#totals.delete(owner)
    else this.#totals.set(owner, after)
  }

  of(owner: string): OwnerUsage {
    return this.#totals.get(owner) ?? { owner, ...NOTHING }
  }

  total(): number {
    let bytes = 0
    for (const usage of this.#totals.values()) bytes += storedBytes(usage)
    return bytes
  }

  largest(limit: number): readonly OwnerUsage[] {
    return [...this.#totals.values()].toSorted((a, b) => storedBytes(b) - storedBytes(a)).slice(0, limit)
  }
}
