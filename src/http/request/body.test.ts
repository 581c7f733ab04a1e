import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isHoldfastError } from '../../core/model/errors.ts'
import { readBody, readJson } from './body.ts'

const BYTES_MAX = 1000

type Outcome = { readonly value: unknown } | { readonly code: string | undefined; readonly message: string }

/** Sends bytes as a request, and returns the outcome of reading its body. With `cut`, the client closes the connection. */
async function outcomeOf(
  read: (request: IncomingMessage) => Promise<unknown>,
  bytes: string | Buffer,
  cut = false,
): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  const server = createServer((request, response) => {
    read(request)
      .then((value): Outcome => ({ value }))
      .catch((error: unknown): Outcome => ({
        code: isHoldfastError(error) ? error.code : undefined,
        message: String(error),
      }))
      .then((outcome) => {
        response.end()
        resolve(outcome)
      })
      .catch(() => {})
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(async () => {
    const closed = new Promise((resolveClosed) => server.close(resolveClosed))
    server.closeAllConnections()
    await closed
  })
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {}) // the server may close first
  socket.write(bytes, () => {
    if (cut) setTimeout(() => socket.destroy(), 20)
  })
  const outcome = await promise
  socket.destroy()
  return outcome
}

function post(headers: string, body: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(`POST / HTTP/1.1\r\nHost: x\r\n${headers}\r\n`), Buffer.from(body)])
}

const sized = (body: string | Buffer, type = 'application/json'): Buffer =>
  post(`Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`, body)

const chunked = (...chunks: string[]): Buffer =>
  post(
    'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n',
    chunks.map((chunk) => `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`).join(''),
  )

const bytes = (request: IncomingMessage): Promise<unknown> =>
  readBody(request, BYTES_MAX).then((body) => body.toString())
const json = (request: IncomingMessage): Promise<unknown> => readJson(request, BYTES_MAX)

describe('readBody', () => {
  test.each([0, 1, BYTES_MAX])('reads %i bytes', async (length) => {
    expect(await outcomeOf(bytes, sized('x'.repeat(length)))).toEqual({ value: 'x'.repeat(length) })
  })

  test('joins chunks', async () => {
    expect(await outcomeOf(bytes, chunked('dü', 'nen ', '🌊', ''))).toEqual({ value: 'dünen 🌊' })
  })

  test('rejects by Content-Length, without reading', async () => {
    const head = post(`Content-Length: ${BYTES_MAX + 1}\r\n`, '')
    expect(await outcomeOf(bytes, head)).toMatchObject({
      code: 'too_large',
      message: expect.stringContaining(String(BYTES_MAX)),
    })
  })

  test('rejects by the bytes received if there is no Content-Length, without waiting for the end', async () => {
    const body = chunked('x'.repeat(BYTES_MAX), 'x')
    expect(await outcomeOf(bytes, body)).toMatchObject({ code: 'too_large' })
  })

  test('reports a truncated body as a client error, not as an internal error', async () => {
    const outcome = await outcomeOf(bytes, post('Content-Length: 100\r\n', 'only a part'), true)
    expect(outcome).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('cut off') })
  })
})

describe('readJson', () => {
  test.each<[string, unknown]>([
    ['{"a":[1,"ü",null]}', { a: [1, 'ü', null] }],
    ['"text"', 'text'],
    ['0', 0],
    ['null', null],
    ['\uFEFF{}', {}],
    [' \r\n\t{} ', {}],
  ])('reads %j', async (text, value) => {
    expect(await outcomeOf(json, sized(text))).toEqual({ value })
  })

  test('returns undefined without a body, whatever its type', async () => {
    expect(await outcomeOf(json, post('Content-Length: 0\r\n', ''))).toEqual({ value: undefined })
    expect(await outcomeOf(json, post('', ''))).toEqual({ value: undefined })
  })

  test.each([
    'application/json',
    'Application/JSON',
    'application/json;charset=utf-8',
    'application/json ; charset=utf-8',
    'application/problem+json',
  ])('accepts the type %s', async (type) => {
    expect(await outcomeOf(json, sized('{}', type))).toEqual({ value: {} })
  })

  test.each([
    '',
    'text/json',
    'application/jsonl',
    'application/x-ndjson',
    'application/javascript',
    'json',
    'xapplication/json',
    'application/+json',
  ])('rejects the type %j and names the expected one', async (type) => {
    const refusal = { code: 'invalid_request', message: expect.stringContaining('send application/json') }
    expect(await outcomeOf(json, sized('{}', type))).toMatchObject(refusal)
  })

  test.each<[string, string | Buffer]>([
    ['no JSON', 'hello'],
    ['a part of JSON', '{"a":'],
    ['two values', '{}{}'],
    ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['half a character', Buffer.from([0x22, 0xf0, 0x9f, 0x22])],
  ])('rejects %s', async (_name, body) => {
    expect(await outcomeOf(json, sized(body))).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('not JSON'),
    })
  })
})
