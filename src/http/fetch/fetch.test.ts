import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { isHoldfastError } from '../../core/model/errors.ts'
import { readBody } from '../request/body.ts'
import type { HttpRequest, HttpResponse } from '../exchange.ts'
import { FetchRequest } from './request.ts'
import { FetchResponse } from './response.ts'
import { serveFetch } from './index.ts'

const never = new AbortController().signal

function responseTo(method = 'GET', gone = never): FetchResponse {
  return new FetchResponse({ method }, gone)
}

const KILOBYTE = new Uint8Array(1024).fill(97)

describe('web Response', () => {
  test('has the status and all headers, including repeated ones', async () => {
    const response = responseTo()
    response.setHeader('vary', 'Origin')
    response.setHeader('set-cookie', ['a=1', 'b=2'])
    response.setHeader('connection', 'close')
    response.writeHead(201, { 'content-length': 5, vary: 'Accept' }).end('hello')
    const answer = await response.answer
    expect([answer.status, await answer.text()]).toEqual([201, 'hello'])
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(Object.fromEntries(answer.headers)).toMatchObject({ vary: 'Accept', 'content-length': '5' })
    expect(answer.headers.has('connection')).toBe(false)
  })

  test('headers are sent with the first write, before there is a body to read', async () => {
    const response = responseTo()
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('')
    const { headers, body } = await response.answer
    expect(headers.get('content-type')).toBe('text/event-stream')
    const reader = body!.getReader()
    const first = reader.read()
    response.write('one')
    expect(new TextDecoder().decode((await first).value)).toBe('one')
    response.write('two')
    response.end('three')
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('twothree')
    expect((await reader.read()).done).toBe(true)
    expect(response.writableFinished).toBe(true)
  })

  test.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('a response to %s with status %i has no body, streamed or not', async (method, status) => {
    const whole = responseTo(method)
    whole.writeHead(status, { 'content-length': 5 }).end('hello')
    const streamed = responseTo(method)
    streamed.writeHead(status).write('hello')
    streamed.end('again')
    for (const { answer } of [whole, streamed]) expect((await answer).body).toBeNull()
    expect((await whole.answer).headers.get('content-length')).toBe('5')
    expect(streamed.writableFinished).toBe(true)
  })

  test('copies its bytes for the reader, who may change them', async () => {
    const shared = new Uint8Array([1, 2, 3])
    const response = responseTo()
    response.write(shared)
    const { value } = await (await response.answer).body!.getReader().read()
    structuredClone(value, { transfer: [value!.buffer] })
    expect([...shared]).toEqual([1, 2, 3])
  })

  test('[SUB-1] holds no more than its buffer for a reader that does not read, and continues when it reads', async () => {
    const response = responseTo()
    let writes = 0
    const fill = (): void => {
      while (response.write(KILOBYTE)) writes++
    }
    fill()
    expect(response.writableNeedDrain).toBe(true)
    expect(response.writableLength).toBe(64 * 1024)
    const reader = (await response.answer).body!.getReader()
    const drained = once(response, 'drain')
    expect((await reader.read()).value!.length).toBe(64 * 1024)
    await drained
    fill()
    expect(writes).toBe(2 * 63)
    expect(response.writableLength).toBe(64 * 1024)
  })

  test('[SUB-1] a large, complete response is handed over in pieces, in order, as its reader takes them', async () => {
    const body = Buffer.alloc(200_000, 'abcdefg')
    const response = responseTo()
    response.writeHead(200, { 'content-length': body.length }).end(body)
    expect([response.writableFinished, response.writableLength]).toEqual([false, 200_000])
    const reader = (await response.answer).body!.getReader()
    const pieces: Uint8Array[] = []
    for (let read = await reader.read(); !read.done; read = await reader.read()) pieces.push(read.value)
    expect(pieces.map(({ length }) => length)).toEqual([65_536, 65_536, 65_536, 3392])
    expect(Buffer.concat(pieces).equals(body)).toBe(true)
    expect(response.writableFinished).toBe(true)
  })

  test('a response that is cut off is an error for its reader, not an end', async () => {
    const response = responseTo()
    response.write('some')
    const reader = (await response.answer).body!.getReader()
    response.destroy()
    await expect(reader.read()).rejects.toThrow('cut off')
  })

  test.each([
    ['the reader cancels', async (response: FetchResponse) => (await response.answer).body!.cancel()],
    ['the request is aborted', async (_response: FetchResponse, client: AbortController) => client.abort()],
  ])('closes when %s, and takes nothing more', async (_title, leave) => {
    const client = new AbortController()
    const response = responseTo('GET', client.signal)
    response.write(KILOBYTE)
    const closed = once(response, 'close')
    await leave(response, client)
    await closed
    expect([response.destroyed, response.writableEnded, response.writableLength]).toEqual([true, false, 0])
    expect(response.write('more')).toBe(false)
    expect(response.writableLength).toBe(0)
  })

  test('a response to an aborted request settles with status 499', async () => {
    const gone = responseTo('GET', AbortSignal.abort())
    expect((await gone.answer).status).toBe(499)
  })

  test('calls back when its reader takes nothing for too long', async () => {
    const response = responseTo()
    response.write(KILOBYTE)
    response.end(KILOBYTE)
    await new Promise<void>((resolve) => response.setTimeout(1, resolve))
    expect(response.writableFinished).toBe(false)
    response.destroy()
  })
})

describe('web Request', () => {
  function post(body: BodyInit | null, init: RequestInit = {}): FetchRequest {
    return new FetchRequest(
      new Request('https://agents.example:8443/api/runs?a=1#part', { method: 'POST', body, ...init }),
      '10.0.0.1',
    )
  }

  test('has the method, target, headers and connection that handlers read', () => {
    const { method, url, headers, socket, complete } = post(null, { headers: { 'X-One': '1' } })
    expect({ method, url, complete }).toEqual({ method: 'POST', url: '/api/runs?a=1', complete: true })
    expect(headers).toMatchObject({ host: 'agents.example:8443', 'x-one': '1' })
    expect([socket.remoteAddress, 'encrypted' in socket]).toEqual(['10.0.0.1', true])
  })

  test('has a body that is read as far as its limit', async () => {
    expect(String(await readBody(post('hello'), 5))).toBe('hello')
    const refused = await readBody(post('hello!'), 5).catch((cause: unknown) => cause)
    expect(isHoldfastError(refused, 'too_large')).toBe(true)
  })

  test('takes no more of its body from the source than is read, and lets go of the rest', async () => {
    let pulls = 0
    let cancelled = false
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulls++
          controller.enqueue(KILOBYTE)
        },
        cancel: () => void (cancelled = true),
      },
      { highWaterMark: 0 },
    )
    const request = post(body, { duplex: 'half' } as RequestInit)
    await setImmediate()
    expect(pulls).toBe(0)
    await once(request, 'data')
    request.pause()
    await setImmediate()
    expect(pulls).toBeLessThan(4)
    request.socket.destroySoon()
    await once(request, 'close')
    expect(cancelled).toBe(true)
  })

  test('a request whose body breaks off is rejected as the client’s error, and ends no process without a listener', async () => {
    const broken = (): ReadableStream =>
      new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) })
    const read = await readBody(post(broken(), { duplex: 'half' } as RequestInit), 5).catch((cause: unknown) => cause)
    expect(isHoldfastError(read, 'invalid_request')).toBe(true)
    const unread = post(broken(), { duplex: 'half' } as RequestInit)
    unread.resume()
    await new Promise<void>((resolve) => void unread.on('close', resolve)) // `once` would listen for errors
  })
})

test.each([
  [undefined, 'unknown'],
  [{ params: Promise.resolve({}) }, 'unknown'],
  [{ remoteAddress: '10.0.0.1' }, '10.0.0.1'],
  [{ incoming: { socket: { remoteAddress: '10.0.0.2' } } }, '10.0.0.2'],
  [{ remoteAddr: { hostname: '10.0.0.3' } }, '10.0.0.3'],
])('the address of a client is taken from what hosts pass: %j', async (info, address) => {
  const app = (request: HttpRequest, response: HttpResponse): void =>
    void response.writeHead(200).end(request.socket.remoteAddress)
  const response = await serveFetch(app, new Request('http://localhost/'), info)
  expect(await response.text()).toBe(address)
})
