/** Drains the rest of a rejected body, up to a limit, so that the client can read the response. */
import type { HttpRequest, HttpResponse } from '../exchange.ts'

/** Closing a connection while bytes arrive resets it, and the client loses the response. */
const REST_BYTES_MAX = 64 * 1024 * 1024
const REST_MS_MAX = 5000

/** Resolves when the response may be sent: immediately, unless the connection closes after it. */
export async function discardRest(request: HttpRequest, response: HttpResponse): Promise<void> {
  if (request.complete || request.destroyed) return
  // Too large to drain: respond with `Connection: close` and accept a reset.
  if (Number(request.headers['content-length'] ?? 0) > REST_BYTES_MAX) {
    response.setHeader('connection', 'close')
    return
  }
  const read = readRest(request)
  if (!response.shouldKeepAlive) await read
}

/** Disconnects a client that exceeds the time or size limit. */
function readRest(request: HttpRequest): Promise<void> {
  const { socket } = request
  return new Promise((resolve) => {
    let bytes = 0
    const cut = setTimeout(() => {
      resolve()
      setImmediate(() => socket.destroySoon()) // after the response that waits for this promise
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
