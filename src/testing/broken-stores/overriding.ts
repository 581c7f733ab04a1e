/** Breaks a store by overriding some of its methods. */
import type { Run } from '../../core/model/run.ts'
import type { LogWriter, Store } from '../../core/ports/store.ts'

export interface BrokenStore {
  /** The fault. */
  readonly name: string
  /** The section of the suite that must detect it. */
  readonly section: string
  readonly breakStore: (store: Store) => Store
  /** Correct until it is reopened. */
  readonly afterReopen?: boolean
}

export function overriding(store: Store, overrides: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, key) {
      if (Object.hasOwn(overrides, key)) return Reflect.get(overrides, key)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

export interface Append {
  readonly index: number
  readonly record: string
  readonly change: Run | undefined
}

/** Buffers appends until `flush`, then passes them to a function that may mishandle them. */
export class BufferedWriter implements LogWriter {
  readonly #commit: (batch: readonly Append[]) => Promise<void>
  #batch: Append[] = []
  #committing = Promise.resolve()
  #next: number

  constructor(next: number, commit: (batch: readonly Append[]) => Promise<void>) {
    this.#next = next
    this.#commit = commit
  }

  get next(): number {
    return this.#next
  }

  get pending(): number {
    return this.#batch.length
  }

  get pendingChars(): number {
    return this.#batch.reduce((sum, { record }) => sum + record.length, 0)
  }

  append(record: string, change?: Run): void {
    this.#batch.push({ index: this.#next++, record, change })
  }

  flush(): Promise<void> {
    this.#committing = this.#committing.then(async () => {
      const batch = this.#batch
      if (batch.length > 0) await this.#commit(batch)
      this.#batch = this.#batch.slice(batch.length)
    })
    return this.#committing
  }
}

/** Appends a batch to a store under a given lease. */
export function commitTo(
  store: Store,
  id: string,
  claim: { readonly epoch: number; readonly next: number },
  batch: readonly Append[],
): Promise<void> {
  const writer = store.writer(id, claim)
  for (const { record, change } of batch) writer.append(record, change)
  return writer.flush()
}
