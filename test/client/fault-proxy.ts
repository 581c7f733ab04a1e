/** A proxy that injects faults of networks and proxies, chosen by a seed. */
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Random } from '../support/random.ts'

/** Faults of one response. */
export interface Fault {
  /** Instead of passing the request on. */
  readonly instead?: 'nothing' | '502' | '429' | '503' | 'page'
  /** The request is forwarded, and its response lost. */
  readonly loses?: boolean
  /** After `bytes` bytes of the body, the connection is reset, closed cleanly, or hangs. */
  readonly after?: { readonly bytes: number; readonly by: 'cut' | 'close' | 'hang' }
  /** Ends the response after a silence of this many milliseconds. */
  readonly idleMs?: number
  readonly delayMs?: number
  /** Buffers the body until it has this many bytes. */
  readonly buffer?: number
  readonly stripsComments?: boolean
  /** Splits the body into pieces of at most this many bytes, also within characters. */
  readonly split?: number
  /** Foreign bytes precede each piece of an event stream. */
  readonly garbage?: boolean
}

export interface FaultProxy {
  readonly url: string
  /** Of event streams; those that are open now, and the most at once. */
  readonly streams: { open: number; most: number; total: number }
  readonly counts: Map<string, number>
  /** Breaks every connection. */
  cut(): void
}

export function drawFault(random: Random): Fault {
  if (random.chance(0.25)) return {}
  if (random.chance(0.15)) return { instead: random.pick(['nothing', '502', '429', '503', 'page'] as const) }
  return {
    ...(random.chance(0.07) && { loses: true }),
    ...(random.chance(0.5) && {
      after: { bytes: random.between(0, 2500), by: random.pick(['cut', 'cut', 'close', 'close', 'hang'] as const) },
    }),
    ...(random.chance(0.1) && { idleMs: random.between(20, 100) }),
    ...(random.chance(0.2) && { delayMs: random.between(1, 15) }),
    ...(random.chance(0.2) && { buffer: 4096 }),
    ...(random.chance(0.3) && { stripsComments: true }),
    ...(random.chance(0.4) && { split: random.pick([1, 3, 7, 100]) }),
  }
}

export interface FaultProxyOptions {
  /** Fault of a request. Default: none. */
  readonly draw?: (request: IncomingMessage) => Fault
  /** Called for a request that the server did not accept or left without a response. */
  readonly onAway?: (request: IncomingMessage) => void
  /** Served at `/page…`, for browsers. */
  readonly files?: Readonly<Record<string, { readonly type: string; readonly body: string }>>
  readonly port?: number
}

/** Closed when the test is over. */
export async function startFaultProxy(target: () => string, options: FaultProxyOptions = {}): Promise<FaultProxy> {
  const proxy = await openFaultProxy(target, options)
  onTestFinished(() => proxy.close())
  return proxy
}

/** For programs other than tests: the caller closes it. */
export async function openFaultProxy(
  target: () => string,
  options: FaultProxyOptions = {},
): Promise<FaultProxy & { readonly close: () => Promise<void> }> {
  const { draw = (): Fault => ({}), onAway, files = {}, port = 0 } = options
  const streams = { open: 0, most: 0, total: 0 }
  const counts = new Map<string, number>()
  const server = createServer((incoming, outgoing) => {
    const file = files[new URL(incoming.url!, 'http://localhost').pathname]
    if (file !== undefined) return void outgoing.setHeader('content-type', file.type).end(file.body)
    const fault = draw(incoming)
    for (const name of Object.keys(fault)) counts.set(name, (counts.get(name) ?? 0) + 1)
    if (fault.instead !== undefined) return answerInstead(fault.instead, incoming, outgoing)
    const onAnswer = (answer: IncomingMessage): void => {
      if (answer.headers['content-type']?.startsWith('text/event-stream') === true) countStream(streams, outgoing)
      if (fault.loses === true) return void outgoing.destroy()
      outgoing.writeHead(answer.statusCode!, answer.headers)
      outgoing.flushHeaders()
      void pass(answer, outgoing, fault)
    }
    const headers = { ...incoming.headers, host: 'localhost' }
    delete (headers as { origin?: string }).origin
    const relayed = httpRequest(target() + incoming.url, { method: incoming.method!, headers, agent: false }, onAnswer)
    relayed.on('error', () => {
      if (!outgoing.destroyed) onAway?.(incoming) // the client did not end it
      outgoing.destroy()
    })
    outgoing.on('close', () => relayed.destroy())
    incoming.pipe(relayed)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
  const cut = (): void => server.closeAllConnections()
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, streams, counts, cut, close }
}

function countStream(streams: FaultProxy['streams'], outgoing: ServerResponse): void {
  streams.total++
  streams.most = Math.max(streams.most, ++streams.open)
  outgoing.on('close', () => streams.open--)
}

function answerInstead(what: NonNullable<Fault['instead']>, incoming: IncomingMessage, outgoing: ServerResponse): void {
  incoming.resume()
  if (what === 'nothing') return void outgoing.destroy()
  if (what === 'page') return void outgoing.setHeader('content-type', 'text/html').end('<h1>Sign in to the Wi-Fi</h1>')
  outgoing.writeHead(Number(what), { 'content-type': 'text/html', ...(what !== '502' && { 'retry-after': '0' }) })
  outgoing.end('<h1>Try later</h1>')
}

/** An invalid frame, and half of another one. */
const GARBAGE = Buffer.from('data: {"run":"nobody\n\nid: 3\ndata: \u0000\n\n')

/** Sends one response with its faults. */
async function pass(answer: IncomingMessage, outgoing: ServerResponse, fault: Fault): Promise<void> {
  let held = Buffer.alloc(0)
  let left = fault.after?.bytes ?? Infinity
  let idle: ReturnType<typeof setTimeout> | undefined
  const rest = (): void => {
    clearTimeout(idle)
    if (fault.idleMs !== undefined) idle = setTimeout(() => outgoing.end(), fault.idleMs)
  }
  outgoing.on('close', () => clearTimeout(idle))
  rest()
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      held = Buffer.concat([held, fault.stripsComments === true ? withoutComments(chunk) : chunk])
      if (held.length < (fault.buffer ?? 1)) continue
      if (fault.garbage === true) held = Buffer.concat([GARBAGE, held])
      left = await write(held, outgoing, fault, left)
      held = Buffer.alloc(0)
      rest()
      if (left <= 0 || outgoing.destroyed || outgoing.writableEnded) return
    }
    await write(held, outgoing, fault, left)
    if (left > 0 && !outgoing.destroyed) outgoing.end()
  } catch {
    outgoing.destroy()
  }
}

/** A heartbeat is sent as a separate piece. */
function withoutComments(chunk: Buffer): Buffer {
  return chunk.toString('latin1').startsWith(':') ? Buffer.alloc(0) : chunk
}

async function write(bytes: Buffer, outgoing: ServerResponse, fault: Fault, left: number): Promise<number> {
  const sent = bytes.subarray(0, Math.min(bytes.length, left))
  const size = fault.split ?? Math.max(1, sent.length)
  if (fault.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, fault.delayMs))
  for (let at = 0; at < sent.length; at += size) {
    if (outgoing.destroyed || outgoing.writableEnded) return 0
    outgoing.write(sent.subarray(at, at + size))
    if (fault.split !== undefined && at % (size * 16) === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  const remaining = left - sent.length
  if (remaining > 0 || fault.after === undefined) return remaining
  if (fault.after.by === 'cut') setTimeout(() => outgoing.destroy(), 5) // what was written goes out first
  else if (fault.after.by === 'close') outgoing.end()
  return 0
}
