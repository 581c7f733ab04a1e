/**
 * A disk that loses power. Writes without a sync may survive in any order, in part, or not at all. The same holds for names: a file that
 * was created, renamed or removed has its new name for certain once its folder was synced; a file that was synced after its creation
 * exists under the name that it was created with.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Operation } from './trace.ts'

type Change =
  | { readonly kind: 'write'; readonly offset: number; readonly data: Buffer }
  | { readonly kind: 'truncate'; readonly size: number }

interface Inode {
  durable: Buffer
  pending: Change[]
}

type NameChange = (names: Map<string, Inode>) => void

/** Which of the changes that were not synced are on the disk. */
export interface Survival {
  /** Called for every sector of every write, and for every truncation. */
  readonly change: () => boolean
  /** How many of the pending name changes survive. They survive in order. */
  readonly names: (pending: number) => number
}

const SECTOR_BYTES = 512

export class Disk {
  /** As the process sees them. */
  readonly #names = new Map<string, Inode>()
  #durableNames = new Map<string, Inode>()
  #pendingNames: { readonly inode: Inode; readonly change: NameChange; readonly isCreation: boolean }[] = []

  perform(operation: Operation): void {
    switch (operation.kind) {
      case 'said':
        return
      case 'create':
        if (!this.#names.has(operation.path)) this.#create(operation.path)
        return
      case 'rename':
        return this.#rename(operation.path, operation.to)
      case 'unlink':
        return this.#unlink(operation.path)
      case 'sync':
        return this.#sync(operation.path)
      case 'write':
      case 'truncate':
        // A file that has no name any more is lost in any case.
        this.#names.get(operation.path)?.pending.push(operation)
    }
  }

  #create(path: string): void {
    const inode: Inode = { durable: Buffer.alloc(0), pending: [] }
    this.#change(inode, (names) => void names.set(path, inode), true)
  }

  #rename(from: string, to: string): void {
    const inode = this.#names.get(from)
    if (inode === undefined) return
    this.#change(inode, (names) => {
      names.delete(from)
      names.set(to, inode)
    })
  }

  #unlink(path: string): void {
    const inode = this.#names.get(path)
    if (inode !== undefined) this.#change(inode, (names) => void names.delete(path))
  }

  #change(inode: Inode, change: NameChange, isCreation = false): void {
    change(this.#names)
    this.#pendingNames.push({ inode, change, isCreation })
  }

  #sync(path: string): void {
    const inode = this.#names.get(path)
    if (inode === undefined) return this.#syncNames()
    inode.durable = inode.pending.reduce(applied, inode.durable)
    inode.pending = []
    const created = this.#pendingNames.findIndex((pending) => pending.inode === inode && pending.isCreation)
    // Names are in one journal: what came before is there as well.
    if (created >= 0) this.#syncNames(created + 1)
  }

  #syncNames(count = this.#pendingNames.length): void {
    for (const { change } of this.#pendingNames.splice(0, count)) change(this.#durableNames)
  }

  /** Writes the content after a loss of power into a folder. */
  leave(folder: string, survival: Survival): void {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    const names = new Map(this.#durableNames)
    const kept = survival.names(this.#pendingNames.length)
    for (const { change } of this.#pendingNames.slice(0, kept)) change(names)
    for (const [path, { durable, pending }] of names) {
      const survived = pending.flatMap((change) => survivors(change, survival))
      writeFileSync(join(folder, basename(path)), survived.reduce(applied, Buffer.from(durable)))
    }
  }
}

function survivors(change: Change, survival: Survival): Change[] {
  if (change.kind === 'truncate') return survival.change() ? [change] : []
  const sectors: Change[] = []
  for (let at = 0; at < change.data.length; at += SECTOR_BYTES) {
    const data = change.data.subarray(at, at + SECTOR_BYTES)
    if (survival.change()) sectors.push({ kind: 'write', offset: change.offset + at, data })
  }
  return sectors
}

/** Changes the content in place if it is large enough. */
function applied(content: Buffer, change: Change): Buffer {
  if (change.kind === 'truncate') return resized(content, change.size)
  const end = change.offset + change.data.length
  const result = content.length < end ? resized(content, end) : content
  change.data.copy(result, change.offset)
  return result
}

function resized(content: Buffer, size: number): Buffer {
  const result = Buffer.alloc(size)
  content.copy(result, 0, 0, Math.min(size, content.length))
  return result
}
