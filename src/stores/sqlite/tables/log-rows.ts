/** Rows of `log`: one per commit, with the records of all its runs. */
import { recordsChecksum } from './checksum.ts'

/** One run's part of a log row. */
export interface LogEntry {
  readonly number: number
  readonly first: number
  readonly count: number
  readonly bytes: Uint8Array
  /** The checksum matches. */
  readonly isSound: boolean
}

/** Parameters: commit number, directory, data, checksums. */
export const INSERT_LOG_ROW = 'INSERT INTO log (seq, dir, data, crcs) VALUES (?, ?, ?, ?)'
/** Parameter: the commit number. Its records are no longer needed. */
export const EMPTY_LOG_ROW = "UPDATE log SET dir = x'', data = x'', crcs = x'' WHERE seq = ?"

/** Decodes a row into entries. An invalid row yields one damaged entry of no run. */
export function entriesOf(row: Record<string, unknown>): LogEntry[] {
  const directory = numbersIn(row['dir'])
  const data = row['data'] instanceof Uint8Array ? row['data'] : NOTHING
  const checksums = row['crcs'] === null ? undefined : (numbersIn(row['crcs']) ?? new Int32Array(0))
  if (directory === undefined || directory.length % 4 !== 0)
    return [{ number: 0, first: 0, count: 0, bytes: data, isSound: false }]
  const entries: LogEntry[] = []
  // If a length is damaged, later entries are still found: the sum is off by the same amount.
  let excess = lengthIn(directory) - data.length
  for (let at = 0, offset = 0; at < directory.length; at += 4) {
    const [number, first, count] = [directory[at]!, directory[at + 1]!, directory[at + 2]!]
    let bytes = data.subarray(offset, offset + directory[at + 3]!)
    const isSound = checksums === undefined || checksums[at / 4] === recordsChecksum(number, first, count, bytes)
    if (!isSound && excess !== 0) {
      bytes = data.subarray(offset, offset + directory[at + 3]! - excess)
      excess = 0
    }
    entries.push({ number, first, count, bytes, isSound })
    offset += bytes.length
  }
  return entries
}

/**
 * The index range of a damaged entry. Either the directory or the records themselves may be wrong, so the range covers both.
 */
export function extentOf({ first, count, bytes }: LogEntry): { readonly first: number; readonly end: number } {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  const named = /^id: (\d+)\n/.exec(text)?.[1]
  if (named === undefined) return { first, end: first + count }
  const end = Number(named) + text.split('\n\n').length - 1
  return { first: Math.min(first, Number(named)), end: Math.max(first + count, end) }
}

const NOTHING = new Uint8Array(0)
const NAME = /\ndata: \{"run":"([^"]+)"/

/** The run id in the first record. */
export function runNamedIn(bytes: Uint8Array): string | undefined {
  return NAME.exec(Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 512)).toString('latin1'))?.[1]
}

function lengthIn(directory: Int32Array): number {
  let bytes = 0
  for (let at = 3; at < directory.length; at += 4) bytes += directory[at]!
  return bytes
}

/** Undefined if it is not an array of 32-bit numbers. */
function numbersIn(value: unknown): Int32Array | undefined {
  if (!(value instanceof Uint8Array) || value.length % 4 !== 0) return undefined
  return new Int32Array(value.slice().buffer)
}
