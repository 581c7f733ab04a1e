/**
 * Frames one chunk of a chunked response once for all subscribers that get the same bytes. `ServerResponse` would frame it per
 * subscriber and pass three buffers to the kernel instead of one.
 */
import type { Socket } from 'node:net'
import type { HttpResponse } from '../exchange.ts'

/** Above this size, copying the bytes costs more than framing them. */
const FRAMED_BYTES_MAX = 16 * 1024

/**
 * Whether chunks can be written directly to the socket of a response that has sent its headers. Not if middleware has replaced
 * `write`, because it must see what is written.
 */
export function takesChunks(response: HttpResponse): boolean {
  return response.chunkedEncoding && response.req.method !== 'HEAD' && !Object.hasOwn(response, 'write')
}

/** Returns false if the socket is full until `drain`, and undefined if the caller must use `response.write`. */
export function writeChunk(response: HttpResponse, content: Uint8Array | string): boolean | undefined {
  const { socket } = response
  // Data buffered in the response itself must go out first.
  if (socket === null || response.writableLength !== socket.writableLength || content.length > FRAMED_BYTES_MAX) return
  return typeof content === 'string' ? writeText(socket, content) : socket.write(frameChunk(content))
}

/** Writes a text for one subscriber without copying it into a buffer. */
function writeText(socket: Socket, text: string): boolean {
  const bytes = Buffer.byteLength(text)
  // For ASCII, latin1 produces the same bytes and is faster.
  return socket.write(`${bytes.toString(16)}\r\n${text}\r\n`, bytes === text.length ? 'latin1' : 'utf8')
}

let last: { readonly bytes: Uint8Array; readonly chunk: Buffer } | undefined

/** Cache of one entry: subscribers of a run are written in sequence, so the same chunk usually comes again. */
function frameChunk(bytes: Uint8Array): Buffer {
  if (last?.bytes === bytes) return last.chunk
  const head = `${bytes.length.toString(16)}\r\n`
  const chunk = Buffer.allocUnsafe(head.length + bytes.length + 2)
  chunk.write(head, 'latin1')
  chunk.set(bytes, head.length)
  chunk[chunk.length - 2] = 13
  chunk[chunk.length - 1] = 10
  last = { bytes, chunk }
  return chunk
}
