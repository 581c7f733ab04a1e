/**
 * Checksums (CRC-32) of what the file holds. They are kept beside the bytes, so that records stay the frames that they are.
 * Each one also covers where its bytes belong: intact bytes in the wrong place are damage too. A file of an older version has
 * none: NULL means that the row cannot be verified.
 */
import { crc32 } from 'node:zlib'

/** A value of a row. */
export type Field = string | number | null

/** Of a segment, or of a run's part of a log row. */
export function recordsChecksum(run: number, first: number, count: number, bytes: Uint8Array): number {
  return crc32(bytes, placeOf(run, first, count)) | 0
}

/** One for each entry of a log row's directory. */
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

/** Of some fields of a row. */
export function fieldsChecksum(fields: readonly Field[]): number {
  return crc32(fields.map((field) => (field === null ? '\u0000' : String(field))).join('\u001f')) | 0
}

/** Whether a stored checksum fits; one that is not there fits anything. */
export function fits(stored: unknown, checksum: () => number): boolean {
  return stored === null || stored === checksum()
}

/** Every step can be undone, so that no single change of a number goes unnoticed. */
function placeOf(run: number, first: number, count: number): number {
  let hash = Math.imul(run ^ 0x9e3779b9, 0x85ebca6b)
  hash = Math.imul((hash ^ (hash >>> 15)) + first, 0xc2b2ae35)
  hash = Math.imul((hash ^ (hash >>> 13)) + count, 0x27d4eb2f)
  return (hash ^ (hash >>> 16)) >>> 0
}
