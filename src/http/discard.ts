/** The rest of a body that was refused: read and dropped within a bound, so that its client gets to read the answer. */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** A connection that is closed while bytes arrive is reset, and the client loses the answer with it. */
const REST_BYTES_MAX = 64 * 1024 * 1024
const REST_MS_MAX = 5000

/** Resolves when the answer may be sent: at once, unless the connection ends with it. */
export async function discardRest(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.complete || request.destroyed) return
  // Not worth reading: the client is told to close, and may be cut.
  if (Number(request.headers['content-length'] ?? 0) > REST_BYTES_MAX) {
    response.setHeader('connection', 'close')
    return
  }
  const read = readRest(request)
  if (!response.shouldKeepAlive) await read
}

/** Cuts a client that sends for too long, or too much. */
function readRest(request: IncomingMessage): Promise<void> {
  const { socket } = request
  return new Promise((resolve) => {
    let bytes = 0
    const cut = setTimeout(() => {
      resolve()
      setImmediate(() => socket.destroySoon()) // behind an answer that waited for this
    }, REST_MS_MAX)
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > REST_BYTES_MAX) socket.destroy()
    })
    const over = (): void => {
      clearTimeout(cut)
      resolve()
    }
    request.once('end', over)
    request.once('close', over)
  })
}
