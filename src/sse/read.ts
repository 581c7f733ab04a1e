/** Reads a response body as a stream of chunks or events. */
import { EventParser, type ParsedEvent } from './parse.ts'

/** Waits for the next chunk; throws on a timeout. */
export type WaitForPiece = <Piece>(piece: Promise<Piece>) => Promise<Piece>

/** Cancels the body when the consumer stops reading. */
export async function* piecesOf(
  body: ReadableStream<Uint8Array> | null,
  wait: WaitForPiece,
): AsyncGenerator<Uint8Array, void, void> {
  if (body === null) return
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await wait(reader.read())
      if (done) return
      yield value
    }
  } finally {
    reader.cancel().catch(() => {}) // it may have ended already
  }
}

export interface ReadOptions {
  /** Throw on invalid UTF-8. Default: replace it. */
  readonly fatal?: boolean
  readonly maxChars?: number
  readonly retry?: (milliseconds: number) => void
}

export async function* eventsIn(
  pieces: AsyncIterable<Uint8Array>,
  { fatal = false, maxChars, retry = () => {} }: ReadOptions = {},
): AsyncGenerator<ParsedEvent, void, void> {
  const decoder = new TextDecoder('utf-8', { fatal, ignoreBOM: true })
  const events: ParsedEvent[] = []
  const parser = new EventParser({ event: (event) => void events.push(event), retry }, maxChars)
  for await (const piece of pieces) {
    parser.push(decoder.decode(piece, { stream: true }))
    // Not `yield*`, which makes an async iterator of the list.
    for (const event of events.splice(0)) yield event
  }
}
