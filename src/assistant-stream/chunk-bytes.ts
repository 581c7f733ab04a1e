/** Bytes as JSON values: text if they are text, so that logs stay readable, otherwise base64. */
import { isUtf8 } from 'node:buffer'

/** Maximum size of a piece, which is one event. A byte of text takes at most six bytes in it, so this is below `maxEventBytes`. */
const PIECE_BYTES_MAX = 512 * 1024

type StoredBytes = string | { readonly base64: string }

/** Returns at least one piece, so that an empty chunk has one too. */
export function toPieces(chunk: Uint8Array): StoredBytes[] {
  const pieces: StoredBytes[] = []
  let start = 0
  do {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset + start, Math.min(PIECE_BYTES_MAX, chunk.length - start))
    pieces.push(isUtf8(bytes) ? bytes.toString('utf8') : { base64: bytes.toString('base64') })
    start += PIECE_BYTES_MAX
  } while (start < chunk.length)
  return pieces
}

export function toBytes(value: unknown): Uint8Array {
  const stored = value as StoredBytes
  return new Uint8Array(typeof stored === 'string' ? Buffer.from(stored, 'utf8') : Buffer.from(stored.base64, 'base64'))
}
