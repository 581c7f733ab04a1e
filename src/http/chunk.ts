/**
 * One chunk of a chunked answer, framed once for all who get the same bytes: `ServerResponse` would frame it anew for each
 * subscriber and hand three buffers to the kernel where one will do.
 */
import type { ServerResponse } from 'node:http'

/** Beyond it copying the bytes costs more than framing them. */
const FRAMED_BYTES_MAX = 16 * 1024

/** Whether a response that has sent its headers may be written to past it. */
export function takesChunks(response: ServerResponse): boolean {
  return response.chunkedEncoding && response.req.method !== 'HEAD'
}

/** False when the socket has no room for another until it drains; undefined when it must be written the ordinary way. */
export function writeChunk(response: ServerResponse, bytes: Uint8Array): boolean | undefined {
  const { socket } = response
  // What the response itself still holds comes first.
  if (socket === null || response.writableLength !== socket.writableLength || bytes.length > FRAMED_BYTES_MAX) return
  return socket.write(framed(bytes))
}

let last: { readonly bytes: Uint8Array; readonly chunk: Buffer } | undefined

/** The subscribers of a run are written to one after the other, so that the last chunk is most often the next one too. */
function framed(bytes: Uint8Array): Buffer {
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
