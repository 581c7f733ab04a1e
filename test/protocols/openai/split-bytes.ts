/** A relay that forwards responses one byte at a time, so that multi-byte characters are split. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Relay {
  readonly url: string
  close(): Promise<void>
}

export async function splitBytes(target: string): Promise<Relay> {
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect(Number(new URL(target).port), '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    }
    client.pipe(upstream)
    void handOn(upstream, client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Sends each byte of a multi-byte character in a separate packet; ASCII is sent unchanged. */
async function handOn(upstream: Socket, client: Socket): Promise<void> {
  try {
    for await (const chunk of upstream as AsyncIterable<Buffer>) {
      for (const piece of pieces(chunk)) {
        if (client.destroyed) return
        await new Promise<void>((resolve) => client.write(piece, () => resolve()))
        if (piece.length === 1) await new Promise((resolve) => setImmediate(resolve))
      }
    }
    client.end()
  } catch {
    client.destroy()
  }
}

function* pieces(chunk: Buffer): Generator<Buffer> {
  let start = 0
  for (const [at, byte] of chunk.entries()) {
    if (byte < 0x80) continue
    if (at > start) yield chunk.subarray(start, at)
    yield chunk.subarray(at, at + 1)
    start = at + 1
  }
  if (start < chunk.length) yield chunk.subarray(start)
}
