/** Reads logs page by page and compares them byte by byte. */
import { expect } from 'vitest'
import { isHoldfastError } from '../../core/model/errors.ts'
import { lastOf, rawRecords, type Slice } from '../../core/model/slice.ts'
import type { Store } from '../../core/ports/store.ts'

const READ_BYTES_MAX = 256 * 1024
const PAGES_MAX = 100_000
const LOOKS_MAX = 10_000

export interface ReadOptions {
  readonly after?: number
  readonly maxBytes?: number
}

/** All pages of a log after a cursor. Each must be contiguous and have the records it declares. */
export async function readPages(store: Store, id: string, options: ReadOptions = {}): Promise<Slice[]> {
  const { after = -1, maxBytes = READ_BYTES_MAX } = options
  const pages: Slice[] = []
  let cursor = after
  while (pages.length < PAGES_MAX) {
    const page = await store.read(id, cursor, maxBytes)
    if (page === undefined) return pages
    expect(page.first, 'the first index of a page').toBe(cursor + 1)
    expect(page.count, 'the records of a page').toBeGreaterThan(0)
    // Splits the page, which fails if the number of records is wrong.
    for (const record of rawRecords(page)) expect(record.envelope).toContain(`{"run":"${id}","index":${record.index},`)
    pages.push(page)
    cursor = lastOf(page)
  }
  throw new Error(`run ${id}: the log has no end`)
}

export async function readBytes(store: Store, id: string, options: ReadOptions = {}): Promise<Buffer> {
  const pages = await readPages(store, id, options)
  return Buffer.concat(pages.map((page) => page.bytes))
}

/** The stored records of a log, as text. */
export async function readRecords(store: Store, id: string): Promise<string[]> {
  const stored = await store.get(id)
  const bytes = await readBytes(store, id, { after: (stored?.first ?? 0) - 1 })
  return bytes.toString().split(/(?<=\n\n)/)
}

/** Compares bytes, not text: decoding would hide invalid UTF-8. */
export function expectSameBytes(actual: Uint8Array, records: readonly string[]): void {
  const expected = Buffer.from(records.join(''))
  if (expected.equals(actual)) return
  const at = expected.findIndex((byte, index) => byte !== actual[index])
  const offset = at < 0 ? expected.length : at
  const near = (bytes: Uint8Array): string =>
    Buffer.from(bytes.subarray(Math.max(0, offset - 40), offset + 40)).toString()
  expect.fail(
    `bytes differ at ${offset}: expected ${expected.length} bytes with …${near(expected)}…, ` +
      `got ${actual.length} with …${near(actual)}…`,
  )
}

export async function expectLog(store: Store, id: string, records: readonly string[], first = 0): Promise<void> {
  expectSameBytes(await readBytes(store, id, { after: first - 1 }), records.slice(first))
}

/** Calls `look` repeatedly until `done` settles, and once after. */
export async function lookUntil(done: Promise<unknown>, look: () => Promise<void>): Promise<void> {
  const progress = { settled: false }
  const settle = (): void => {
    progress.settled = true
  }
  done.then(settle, settle)
  for (let looks = 0; !progress.settled && looks < LOOKS_MAX; looks++) await look()
  await done
  await look()
}

/** The error code with which a store refuses, synchronously or later; undefined if it does not. */
export async function refusalOf(action: () => unknown): Promise<string | undefined> {
  try {
    await action()
    return undefined
  } catch (error) {
    if (isHoldfastError(error)) return error.code
    throw error
  }
}
