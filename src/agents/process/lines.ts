/** Reads UTF-8 lines from byte chunks, with a length limit. */

/** A line that is too long or not UTF-8. */
export class LineError extends Error {
  override readonly name = 'LineError'
}

/** Lines without terminators, including an unterminated last one. Bounding the read-ahead is up to the source. */
export async function* linesOf(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string, void, void> {
  let pieces: Uint8Array[] = []
  let bytes = 0
  const take = (piece: Uint8Array): void => {
    bytes += piece.length
    if (bytes > maxBytes) throw new LineError(`a line is longer than ${maxBytes} bytes`)
    if (piece.length > 0) pieces.push(piece)
  }
  const line = (): string => {
    const text = decode(Buffer.concat(pieces))
    pieces = []
    bytes = 0
    return text
  }
  for await (const chunk of source) {
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      take(chunk.subarray(start, end))
      yield line()
      start = end + 1
    }
    take(chunk.subarray(start))
  }
  if (bytes > 0) yield line()
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r$/, '')
  } catch (cause) {
    throw new LineError('a line is not UTF-8', { cause })
  }
}
