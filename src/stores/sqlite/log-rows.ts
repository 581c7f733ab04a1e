/** Rows of `log`: one for each commit, with the records of every run in it. */
import { recordsChecksum } from './checksum.ts'

/** What a log row has of one run. */
export interface LogEntry {
  readonly number: number
  readonly first: number
  readonly count: number
  readonly bytes: Uint8Array
  /** It is what was written, as far as its checksum says. */
  readonly isSound: boolean
}

/** Takes the number of the commit, directory, data and checksums. */
export const INSERT_LOG_ROW = 'INSERT INTO log (seq, dir, data, crcs) VALUES (?, ?, ?, ?)'
/** Takes the number of the commit: nothing that it holds is needed any more. */
export const EMPTY_LOG_ROW = "UPDATE log SET dir = x'', data = x'', crcs = x'' WHERE seq = ?"

/** The entries of a row, all columns. A row that makes no sense is one damaged entry of nobody. */
export function entriesOf(row: Record<string, unknown>): LogEntry[] {
  const directory = numbersIn(row['dir'])
  const data = row['data'] instanceof Uint8Array ? row['data'] : NOTHING
  const checksums = row['crcs'] === null ? undefined : (numbersIn(row['crcs']) ?? new Int32Array(0))
  if (directory === undefined || directory.length % 4 !== 0)
    return [{ number: 0, first: 0, count: 0, bytes: data, isSound: false }]
  const entries: LogEntry[] = []
  // Where a length is damaged, the entries behind it are found all the same: the sum is wrong by as much.
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
 * Which records a damaged entry is of. Either what the directory says or what the records say of themselves may be wrong: what
 * comes back covers both.
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

/** The run that the first record of some names. */
export function runNamedIn(bytes: Uint8Array): string | undefined {
  return NAME.exec(Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 512)).toString('latin1'))?.[1]
}

function lengthIn(directory: Int32Array): number {
  let bytes = 0
  for (let at = 3; at < directory.length; at += 4) bytes += directory[at]!
  return bytes
}

/** Undefined for what is not made of 32-bit numbers. */
function numbersIn(value: unknown): Int32Array | undefined {
  if (!(value instanceof Uint8Array) || value.length % 4 !== 0) return undefined
  return new Int32Array(value.slice().buffer)
}
