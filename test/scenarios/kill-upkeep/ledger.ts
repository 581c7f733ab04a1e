/** Tracks what the store has acknowledged and what it was asked for without a reply, and checks a file against it. */
import { isFinished } from '../../../src/core/model/run.ts'
import type { Store, StoredRun } from '../../../src/core/ports/store.ts'
import { recordAt } from './content.ts'
import { type Note, OWNERS } from './notes.ts'

interface KnownRun {
  readonly owner: string
  isCreated: boolean
  /** Records that were acknowledged. */
  next: number
  /** Where the terminal event is, or may be. */
  completingAt: number
  isCompleted: boolean
  removal: 'none' | 'asked' | 'acknowledged'
  /** Records before `trimmed` must be missing, those before `trimming` may be. */
  trimmed: number
  trimming: number
}

interface State {
  readonly runs: Map<string, KnownRun>
  readonly values: Map<string, { put: number; putting: number }>
  /** Retention is at work: any finished run may have lost all but its last event. */
  isSweeping: boolean
}

const READ_BYTES = 256 * 1024

export class Ledger {
  readonly #state: State

  constructor(state?: State) {
    const values = new Map(OWNERS.map((owner) => [owner as string, { put: 0, putting: 0 }]))
    this.#state = state ?? { runs: new Map(), values, isSweeping: false }
  }

  /** The current state: a backup that starts now must have it. */
  copy(): Ledger {
    return new Ledger(structuredClone(this.#state))
  }

  get size(): number {
    return this.#state.runs.size
  }

  take(note: Note): void {
    const { runs, values } = this.#state
    switch (note.kind) {
      case 'creating':
        runs.set(note.id, {
          owner: note.owner,
          isCreated: false,
          next: 0,
          completingAt: -1,
          isCompleted: false,
          removal: 'none',
          trimmed: 0,
          trimming: 0,
        })
        break
      case 'created':
        Object.assign(runs.get(note.id)!, { isCreated: true, next: 1 })
        break
      case 'completing':
        runs.get(note.id)!.completingAt = note.index
        break
      case 'wrote':
        Object.assign(runs.get(note.id)!, { next: note.next, isCompleted: note.completed })
        break
      case 'removing':
        runs.get(note.id)!.removal = 'asked'
        break
      case 'removed':
        runs.get(note.id)!.removal = 'acknowledged'
        break
      case 'trimming':
        runs.get(note.id)!.trimming = Math.max(note.before, runs.get(note.id)!.trimming)
        break
      case 'trimmed':
        runs.get(note.id)!.trimmed = Math.max(note.before, runs.get(note.id)!.trimmed)
        break
      case 'putting':
        values.get(note.owner)!.putting = note.value
        break
      case 'put':
        values.get(note.owner)!.put = note.value
        break
      case 'sweeping':
        this.#state.isSweeping = true
        break
      default:
    }
  }

  /**
   * Throws unless the store has all that was acknowledged, byte for byte, and nothing that was never asked for. What it has
   * counts as acknowledged from then on. Returns the number of records that it compared.
   */
  async check(store: Store): Promise<number> {
    const found = await listed(store)
    for (const id of found.keys())
      if (!this.#state.runs.has(id)) throw new Error(`the store has run ${id}, which nobody created`)
    let records = 0
    for (const [id, known] of this.#state.runs) {
      const stored = found.get(id)
      if (stored !== undefined) records += await this.#checkRun(store, stored, known)
      else if (known.isCreated && known.removal === 'none') throw new Error(`run ${id} was acknowledged, and is gone`)
      else this.#state.runs.delete(id)
    }
    this.#state.isSweeping = false
    for (const [owner, value] of this.#state.values) await this.#checkValue(store, owner, value)
    return records
  }

  async #checkRun(store: Store, stored: StoredRun, known: KnownRun): Promise<number> {
    const { run, first, next } = stored
    const complain = (what: string): never => {
      throw new Error(`run ${run.id} ${what}; acknowledged: ${JSON.stringify(known)}, found: ${JSON.stringify(stored)}`)
    }
    if (known.removal === 'acknowledged') complain('was removed, and is back')
    if (run.owner !== known.owner) complain('has another owner')
    if (stored.damage !== undefined) complain('is damaged')
    if (next < known.next) complain('has lost events')
    const finished = isFinished(run.status)
    if (finished !== (known.completingAt >= 0 && next === known.completingAt + 1)) complain('has the wrong end')
    if (known.isCompleted && !finished) complain('is open again')
    const mayBeTrimmed = finished && this.#state.isSweeping ? next - 1 : known.trimming
    if (first < known.trimmed || first > mayBeTrimmed) complain('begins at the wrong event')
    const log = await wholeLog(store, stored)
    const expected = Array.from({ length: next - first }, (_, place) => {
      return recordAt(run.id, first + place, finished && first + place === next - 1)
    }).join('')
    if (log !== expected) complain(`reads ${JSON.stringify(differenceOf(log, expected))}`)
    Object.assign(known, { isCreated: true, next, isCompleted: finished, trimmed: first, trimming: first })
    if (!finished) known.completingAt = -1
    known.removal = 'none' // it was asked for, and did not come to pass
    return next - first
  }

  async #checkValue(store: Store, owner: string, value: { put: number; putting: number }): Promise<void> {
    const document = await store.documents.get(owner, 'notes', 'value')
    const found = (document?.body as { value: number } | undefined)?.value ?? 0
    if (found < value.put || found > value.putting)
      throw new Error(`the document of ${owner} has ${found}, acknowledged: ${value.put}, asked for: ${value.putting}`)
    value.put = found
    value.putting = found
  }
}

async function listed(store: Store): Promise<Map<string, StoredRun>> {
  const found = new Map<string, StoredRun>()
  for (let after: string | undefined = ''; after !== undefined;) {
    const page = await store.list({ limit: 100, ...(after !== '' && { after }) })
    for (const stored of page.runs) found.set(stored.run.id, stored)
    after = page.cursor
  }
  return found
}

async function wholeLog(store: Store, { run, first }: StoredRun): Promise<string> {
  const pieces: Uint8Array[] = []
  for (let after = first - 1; ;) {
    const slice = await store.read(run.id, after, READ_BYTES)
    if (slice === undefined) return Buffer.concat(pieces).toString()
    pieces.push(slice.bytes)
    after += slice.count
  }
}

function differenceOf(found: string, expected: string): { found: string; expected: string } {
  let at = 0
  while (at < found.length && found[at] === expected[at]) at++
  const excerpt = (text: string): string => text.slice(Math.max(0, at - 60), at + 60)
  return { found: excerpt(found), expected: excerpt(expected) }
}
