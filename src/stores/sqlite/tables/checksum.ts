/**
 * CRC-32 checksums of the stored data, in separate columns, so that records remain frames. Each also covers the position of its
 * bytes: intact bytes at the wrong position are damage too. Rows of older versions have NULL, which cannot be verified.
 */
import { crc32 } from 'node:zlib'

/** A column value. */
export type Field = string | number | null

/** Checksum of a segment, or of a run's part of a log row. */
export function recordsChecksum(run: number, first: number, count: number, bytes: Uint8Array): number {
  return crc32(bytes, placeOf(run, first, count)) | 0
}

/** One per entry of a log row's directory. */
export function entryChecksums(directory: Int32Array, data: Uint8Array): Int32Array {
  const checksums = new Int32Array(directory.length / 4)
  for (let at = 0, offset = 0; at < directory.length; at += 4) {
    const end = offset + directory[at + 3]!
    checksums[at / 4] = recordsChecksum(
      directory[at]!,
      directory[at + 1]!,
      directory[at + 2]!,
      data.subarray(offset, end),
    )
    offset = end
  }
  return checksums
}

/** Checksum of some columns of a row. */
export function fieldsChecksum(fields: readonly Field[]): number {
  return crc32(fields.map((field) => (field === null ? '\u0000' : String(field))).join('\u001f')) | 0
}

/** Whether a stored checksum matches; a missing one matches anything. */
export function fits(stored: unknown, checksum: () => number): boolean {
  return stored === null || stored === checksum()
}

/** Every step is invertible, so that no change of a single number goes unnoticed. */
function placeOf(run: number, first: number, count: number): number {
  let hash = Math.imul(run ^ 0x9e3779b9, 0x85ebca6b)
  hash = Math.imul((hash ^ (hash >>> 15)) + first, 0xc2b2ae35)
  hash = Math.imul((hash ^ (hash >>> 13)) + count, 0x27d4eb2f)
  return (hash ^ (hash >>> 16)) >>> 0
}
