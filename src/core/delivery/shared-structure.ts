/**
 * The structure of one run at the end of its log, shared by all who ask for a snapshot on this node: it is folded once, and encoded
 * once for those who ask at the same time. This is only a cache: an evicted structure is folded again from the log.
 */
import { HoldfastError } from '../model/errors.ts'
import type { EventType } from '../model/event.ts'
import { CONTENT_LIMIT_FACTOR, type Limits } from '../model/limits.ts'
import { markOf, parseEnvelope, type RawRecord } from '../model/slice.ts'
import { isFinished, type Run } from '../model/run.ts'
import type { Store } from '../ports/store.ts'
import { paceFolds } from '../runtime/share-event-loop.ts'
import type { RunStructure } from '../structure/run-structure.ts'
import type { Fold } from './fold-queue.ts'
import { isInLog, recordsAfter } from './follow-log.ts'
import { retainedBytes } from './retained-bytes.ts'
import type { ViewCache } from './view-cache.ts'

export interface StructureSnapshot {
  /** A `SavedStructure` as JSON. */
  readonly last: RawRecord | undefined
  /** A `SavedStructure` as JSON. */
  readonly json: string
  /** The run has ended: no event follows. */
  readonly ended: boolean
}

interface StructureParts {
  readonly run: Run
  readonly first: number
  readonly store: Store
  readonly limits: Limits
  readonly cache: ViewCache
}

interface StructureFold {
  readonly structure: RunStructure
  last: RawRecord | undefined
  /** Estimated memory of the fold. */
  bytes: number
  /** Checksum of the last event; undefined until first requested. */
  snapshot: StructureSnapshot | undefined
}

/** Events folded, or entries encoded, before others get the event loop. */
const AT_ONCE = 32

export class SharedStructure {
  readonly #parts: StructureParts
  #folded: StructureFold | undefined
  #building: Promise<StructureSnapshot> | undefined

  constructor(parts: StructureParts) {
    this.#parts = parts
  }

  get run(): Run {
    return this.#parts.run
  }

  forget(): void {
    this.#folded = undefined
  }

  /**
   * Folds to the end of the log. `next`: the caller knows that the log has all events before this index. Concurrent callers share
   * the work. Throws `too_large` if the structure exceeds one response.
   */
  async current(next: number): Promise<StructureSnapshot> {
    const known = await this.#building
    if (known?.last !== undefined && known.last.index >= next - 1) return known
    // A reader that starts now reads the whole log, even if the log has lost its end since.
    this.#building ??= this.#build().finally(() => (this.#building = undefined))
    return this.#building
  }

  async #build(): Promise<StructureSnapshot> {
    const folded = await this.#verified()
    this.#folded = undefined // a fold that fails midway must not be continued
    const fold = this.#parts.cache.folds.begin(this.run.owner)
    try {
      await this.#foldOn(folded, fold)
    } finally {
      fold.end()
    }
    folded.snapshot ??= await this.#encode(folded)
    this.#folded = folded
    this.#parts.cache.charge(this, folded.bytes + folded.snapshot.json.length)
    return folded.snapshot
  }

  async #foldOn(folded: StructureFold, fold: Fold): Promise<void> {
    const { store, run, first, limits } = this.#parts
    const maxBytes = Math.max(limits.maxViewCacheBytes, limits.maxUnstreamedLogBytes)
    const after = folded.last?.index ?? first - 1
    for await (const records of recordsAfter(store, run.id, after, {
      maxBytes: limits.maxReadBytes,
      atOnce: AT_ONCE,
      fold,
    })) {
      let type: EventType = 'run.created'
      for (const { envelope, index, isAscii } of records) {
        const event = parseEnvelope(envelope, run.id, index)
        folded.structure.apply(event)
        folded.bytes += retainedBytes(event, envelope.length, isAscii)
        ;({ type } = event)
      }
      folded.last = { ...records.at(-1)!, type }
      folded.snapshot = undefined
      if (folded.bytes > maxBytes) throw this.#tooLarge()
      this.#parts.cache.charge(this, folded.bytes)
      fold.retain({ view: this, sharedBytes: 0, ownBytes: folded.bytes })
    }
  }

  async #encode({ structure, last }: StructureFold): Promise<StructureSnapshot> {
    const { entries, ...rest } = structure.saving()
    const head = JSON.stringify(rest).slice(0, -1)
    const encoded: string[] = []
    let charsLeft = CONTENT_LIMIT_FACTOR * this.#parts.limits.maxResponseBytes - head.length
    for (const entry of entries) {
      const text = JSON.stringify(entry)
      charsLeft -= text.length + 1
      if (charsLeft < 0) throw this.#tooLarge()
      encoded.push(text)
      const pause = encoded.length % AT_ONCE === 0 ? paceFolds() : undefined
      if (pause !== undefined) await pause
    }
    const json = `${head},"entries":[${encoded.join(',')}]}`
    return { last, json, ended: isFinished(structure.lifecycle.status) }
  }

  /** The previous fold, if the log still has its last event. */
  async #verified(): Promise<StructureFold> {
    const { store, run } = this.#parts
    const folded = this.#folded
    if (folded?.last !== undefined) {
      const { index, envelope } = folded.last
      if (await isInLog(store, run.id, { index, mark: markOf(envelope) })) return folded
    }
    // Loaded lazily: a server starts faster without it.
    const structures = await import('../structure/run-structure.ts')
    return { structure: new structures.RunStructure(), last: undefined, bytes: 0, snapshot: undefined }
  }

  #tooLarge(): HoldfastError {
    return new HoldfastError(
      'too_large',
      `the structure of run ${this.run.id} is too large for a snapshot; read its events instead, for example the last ones with tail=1000`,
    )
  }
}
