/**
 * Bytes of unverified callers, as this node knows them: by network, by IPv6 site and in all. The store is read about once per minute, and
 * what this node admits meanwhile is added.
 */
import { type Clock, elapsedOf } from '../ports/clock.ts'

/** Maximum bytes that the unverified callers of one network store. */
export const NETWORK_BYTES_MAX = 16 * 1024 * 1024
/** Maximum bytes of one IPv6 /48, which one client often controls: it has 65,536 networks. */
export const SITE_BYTES_MAX = 4 * NETWORK_BYTES_MAX
/** Maximum bytes that all unverified callers store. */
export const TOTAL_BYTES_MAX = 64 * NETWORK_BYTES_MAX
/** How long the sums are used before they are read from the store again. */
const SUMS_MS = 60_000

/** What one caller stores. */
interface StoredBytes {
  readonly owner: string
  readonly network: string
  readonly bytes: number
}

interface Reservation extends StoredBytes {
  /** The sums that contain it. */
  readonly within: Set<Sums>
}

export class UnverifiedSums {
  readonly #read: () => AsyncIterable<StoredBytes>
  readonly #clock: Clock
  #known: Sums | undefined
  #reading: Promise<void> | undefined
  readonly #inProgress = new Set<Reservation>()

  /** `read`: everything that unverified callers store. */
  constructor(read: () => AsyncIterable<StoredBytes>, clock: Clock) {
    this.#read = read
    this.#clock = clock
  }

  /** Executes a write if there is room for it. Returns undefined if there is not. `write` resolves with whether it has stored anything. */
  async within(added: StoredBytes, write: () => Promise<boolean>): Promise<boolean | undefined> {
    await this.#refresh()
    if (!this.#known!.hasRoom(added)) return undefined
    // Counted before the write, so that parallel requests do not all find the same room.
    const reservation: Reservation = { ...added, within: new Set() }
    reserve(reservation, this.#known!)
    this.#inProgress.add(reservation)
    let isStored = false
    try {
      isStored = await write()
      return isStored
    } finally {
      this.#inProgress.delete(reservation)
      if (!isStored) for (const sums of reservation.within) sums.undo(added)
    }
  }

  /** What the caller stores no longer counts. */
  forget(owner: string): void {
    this.#known?.forget(owner)
  }

  /** Concurrent calls share one reading. */
  async #refresh(): Promise<void> {
    if (this.#known !== undefined && elapsedOf(this.#clock) - this.#known.readAt < SUMS_MS) return
    this.#reading ??= this.#readAll().finally(() => (this.#reading = undefined))
    await this.#reading
  }

  async #readAll(): Promise<void> {
    const sums = new Sums(elapsedOf(this.#clock))
    // Writes in progress may be missed by the reading. Those that it sees count twice until the next one.
    for (const reservation of this.#inProgress) reserve(reservation, sums)
    for await (const stored of this.#read()) sums.add(stored)
    this.#known = sums
  }
}

function reserve(reservation: Reservation, sums: Sums): void {
  sums.add(reservation)
  reservation.within.add(sums)
}

class Sums {
  readonly readAt: number
  readonly #bytes = new Map<string, number>()
  readonly #callers = new Map<string, StoredBytes>()

  constructor(readAt: number) {
    this.readAt = readAt
  }

  hasRoom({ network, bytes }: StoredBytes): boolean {
    return limitsOf(network).every(([key, max]) => (this.#bytes.get(key) ?? 0) + bytes <= max)
  }

  add({ owner, network, bytes }: StoredBytes, sign: 1 | -1 = 1): void {
    const change = sign * bytes
    for (const [key] of limitsOf(network)) this.#bytes.set(key, (this.#bytes.get(key) ?? 0) + change)
    this.#callers.set(owner, { owner, network, bytes: (this.#callers.get(owner)?.bytes ?? 0) + change })
  }

  /** Reverts `add`, unless the caller was forgotten meanwhile. */
  undo(added: StoredBytes): void {
    if (this.#callers.has(added.owner)) this.add(added, -1)
  }

  forget(owner: string): void {
    const counted = this.#callers.get(owner)
    if (counted !== undefined) this.add(counted, -1)
    this.#callers.delete(owner)
  }
}

/** The sums that a network is part of, with their limits. */
function limitsOf(network: string): (readonly [string, number])[] {
  const [, site] = /^((?:[^:]*:){3})[^:]*::\/64$/.exec(network) ?? []
  return [
    [`network ${network}`, NETWORK_BYTES_MAX],
    ...(site === undefined ? [] : [[`site ${site}`, SITE_BYTES_MAX] as const]),
    ['all', TOTAL_BYTES_MAX],
  ]
}
