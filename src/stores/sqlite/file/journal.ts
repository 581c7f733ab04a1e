/** Parses a write-ahead log without SQLite, in chunks, since it may be larger than memory. */
import { closeSync, openSync, readSync } from 'node:fs'

export interface Journal {
  /** Committed pages beyond the end of the database file. */
  readonly beyond: ReadonlySet<number>
  /** Pages of the database after the last commit; undefined without any. */
  readonly pages?: number
}

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const PIECE_BYTES = 4 * 1024 * 1024

/** Reads the log of a database file with `filePages` pages. */
export function readJournal(path: string, pageBytes: number, filePages: number): Journal {
  const beyond = new Set<number>()
  let pages: number | undefined
  let uncommitted: number[] = []
  for (const { page, pagesAfter } of frames(path, pageBytes)) {
    if (page > filePages) uncommitted.push(page)
    if (pagesAfter === 0) continue
    pages = pagesAfter
    for (const each of uncommitted) beyond.add(each)
    uncommitted = []
  }
  return pages === undefined ? { beyond } : { beyond, pages }
}

interface Frame {
  readonly page: number
  /** Pages of the database after the commit that ends here; 0 within a commit. */
  readonly pagesAfter: number
}

function* frames(path: string, pageBytes: number): Generator<Frame> {
  const file = openIfThere(path)
  if (file === undefined) return
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return
    const salt = header.subarray(16, 24)
    const frameBytes = FRAME_HEADER_BYTES + pageBytes
    const piece = Buffer.allocUnsafe(frameBytes * Math.max(1, Math.floor(PIECE_BYTES / frameBytes)))
    for (let offset = HEADER_BYTES; ;) {
      const length = readSync(file, piece, 0, piece.length, offset)
      const whole = length - (length % frameBytes)
      if (whole === 0) return
      for (let at = 0; at < whole; at += frameBytes) {
        if (!piece.subarray(at + 8, at + 16).equals(salt)) return // left over from before the last checkpoint
        yield { page: piece.readUInt32BE(at), pagesAfter: piece.readUInt32BE(at + 4) }
      }
      offset += whole
    }
  } finally {
    closeSync(file)
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cause
  }
}
