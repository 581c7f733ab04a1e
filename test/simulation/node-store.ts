/** The shared store as one node sees it: requests and responses can be lost, and hints lost, duplicated or late. */
import { HoldfastError } from '../../src/core/model/errors.ts'
import { Hints } from '../../src/core/delivery/hints.ts'
import { isFinished, type Run } from '../../src/core/model/run.ts'
import type { Slice } from '../../src/core/model/slice.ts'
import type {
  ClaimableQuery,
  ClaimOptions,
  CreateResult,
  LeasedRun,
  Hint,
  HintListener,
  LogWriter,
  NewRun,
  StoredRunPage,
  RunQuery,
  StopRequest,
  Store,
  StoredRun,
  StoreHealth,
} from '../../src/core/ports/store.ts'
import type { Append, SharedStore } from './shared-store.ts'

/** How requests of a node reach the store, and its answers the node. */
export interface Link {
  /** Resolves with the result of `apply` at the store; rejects with `unavailable` if the request or the response is lost. */
  request<Result>(label: string, apply: () => Promise<Result>): Promise<Result>
  readonly shared: SharedStore
  /** How many of `records` records the next commit takes. */
  batch(records: number): number
  /** Whether the store gets the next commit twice. */
  isDoubled(): boolean
  /** Another slice in place of the requested one, if the store errs. */
  misread(id: string, slice: Slice): Promise<Slice>
}

export class NodeStore implements Store {
  readonly name = 'simulated'
  readonly capabilities = { durable: true, shared: true }
  readonly #link: Link
  readonly #shared: SharedStore
  readonly #hints = new Hints()
  readonly documents: Store['documents']
  readonly transfer: Store['transfer']
  readonly usage: Store['usage']
  /** Under which the node claims. */
  owner: string | undefined

  constructor(link: Link) {
    this.#link = link
    this.#shared = link.shared
    const { memory } = link.shared
    this.documents = over(link, memory.documents, 'documents')
    this.transfer = memory.transfer
    this.usage = over(link, memory.usage, 'usage')
  }

  /** A hint has come. */
  hinted(hint: Hint): void {
    this.#hints.give(hint)
  }

  health(): StoreHealth {
    return { ok: true }
  }

  create(request: NewRun): Promise<CreateResult> {
    return this.#link.request(`create ${request.run.id}`, () => this.#shared.create(request))
  }

  get(id: string): Promise<StoredRun | undefined> {
    return this.#link.request('get', () => this.#shared.memory.get(id))
  }

  findByKey(owner: string, key: string): ReturnType<Store['findByKey']> {
    return this.#link.request('findByKey', () => this.#shared.memory.findByKey(owner, key))
  }

  list(query: RunQuery): Promise<StoredRunPage> {
    return this.#link.request('list', () => this.#shared.memory.list(query))
  }

  remove(id: string): Promise<boolean> {
    return this.#link.request('remove', () => this.#shared.memory.remove(id))
  }

  writer(
    id: string,
    claim: { readonly epoch: number; readonly next: number },
    onRefused?: (cause: unknown) => void,
  ): LogWriter {
    return new NodeWriter(this.#link, id, claim, onRefused)
  }

  async read(id: string, after: number, maxBytes: number): Promise<Slice | undefined> {
    return this.#link.request('read', async () => {
      const slice = await this.#shared.read(id, after, maxBytes)
      return slice && this.#link.misread(id, slice)
    })
  }

  trim(id: string, before: number): Promise<void> {
    return this.#link.request('trim', () => this.#shared.memory.trim(id, before))
  }

  size(): Promise<number> {
    return this.#link.request('size', () => this.#shared.memory.size())
  }

  claim(id: string, owner: string, ttlMs: number, options?: ClaimOptions): Promise<StoredRun | undefined> {
    return this.#link.request(`claim ${id}`, () => this.#shared.claim(id, owner, ttlMs, options))
  }

  renew(owner: string, ttlMs: number, components?: readonly string[]): Promise<readonly LeasedRun[]> {
    this.owner = owner
    return this.#link.request('renew', () => this.#shared.renew(owner, ttlMs, components))
  }

  release(id: string, epoch: number): Promise<void> {
    return this.#link.request(`release ${id}`, () => this.#shared.release(id, epoch))
  }

  claimable(limit: number, query?: ClaimableQuery): Promise<readonly string[]> {
    return this.#link.request('claimable', () => this.#shared.memory.claimable(limit, query))
  }

  unserved(): Promise<readonly string[]> {
    return this.#link.request('unserved', () => this.#shared.memory.unserved())
  }

  queued(owner?: string): Promise<number> {
    return this.#link.request('queued', () => this.#shared.memory.queued(owner))
  }

  requestStop(id: string, stop: StopRequest): Promise<StoredRun | undefined> {
    return this.#link.request(`stop ${id}`, () => this.#shared.requestStop(id, stop))
  }

  watch(id: string, listener: HintListener): () => void {
    return this.#hints.watch(id, listener)
  }

  async close(): Promise<void> {}
}

/** Sends appended records in batches, one at a time. */
class NodeWriter implements LogWriter {
  readonly #link: Link
  readonly #id: string
  readonly #epoch: number
  readonly #onRefused: ((cause: unknown) => void) | undefined
  #durable: number
  #queue: Append[] = []
  #pendingChars = 0
  #sending: Promise<void> | undefined
  #refusal: unknown
  #closed = false

  constructor(
    link: Link,
    id: string,
    claim: { readonly epoch: number; readonly next: number },
    onRefused: ((cause: unknown) => void) | undefined,
  ) {
    this.#link = link
    this.#id = id
    this.#epoch = claim.epoch
    this.#durable = claim.next
    this.#onRefused = onRefused
  }

  get next(): number {
    return this.#durable + this.#queue.length
  }

  get pending(): number {
    return this.#queue.length
  }

  get pendingChars(): number {
    return this.#pendingChars
  }

  append(record: string, change?: Run): void {
    if (this.#refusal !== undefined) throw this.#refusal as Error
    if (this.#closed) throw new HoldfastError('closed', `run ${this.#id} has ended: its log is closed`)
    this.#closed = change !== undefined && isFinished(change.status)
    this.#queue.push({ record, change })
    this.#pendingChars += record.length
    this.#sending ??= Promise.resolve().then(() => this.#send())
  }

  async flush(): Promise<void> {
    const until = this.next
    while (this.#refusal === undefined && this.#durable < until) await this.#sending
    if (this.#refusal !== undefined) throw this.#refusal as Error
  }

  async #send(): Promise<void> {
    const { shared } = this.#link
    try {
      while (this.#queue.length > 0) {
        const batch = this.#queue.slice(0, this.#link.batch(this.#queue.length))
        const first = this.#durable
        const isDoubled = this.#link.isDoubled()
        await this.#link.request(`commit ${this.#id} ${first}+${batch.length}`, async () => {
          await shared.commit(this.#id, this.#epoch, first, batch)
          if (isDoubled) await shared.commit(this.#id, this.#epoch, first, batch).catch(refused)
        })
        this.#queue.splice(0, batch.length)
        this.#durable += batch.length
        for (const { record } of batch) this.#pendingChars -= record.length
      }
    } catch (cause) {
      this.#refusal = cause
      this.#onRefused?.(cause)
    }
    this.#sending = undefined
  }
}

/** A commit that the store has already is refused; anything else is not a refusal. */
function refused(cause: unknown): void {
  if (!(cause instanceof HoldfastError)) throw cause
}

/** An object of the store whose methods are sent as requests. */
function over<Target extends object>(link: Link, target: Target, name: string): Target {
  return new Proxy(target, {
    get(object, key) {
      const value: unknown = Reflect.get(object, key, object)
      if (typeof value !== 'function') return value
      return (...parameters: unknown[]) =>
        link.request(`${name}.${String(key)}`, async () =>
          (value as (...all: unknown[]) => unknown).apply(object, parameters),
        )
    },
  })
}
