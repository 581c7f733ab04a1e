/** Reads a request's body within a bound. */
import type { IncomingMessage } from 'node:http'
import { HoldfastError, messageOf } from '../core/errors.ts'

export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const tooLarge = (): HoldfastError => new HoldfastError('too_large', `the body is larger than ${bytesMax} bytes`)
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw tooLarge()
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bytesMax) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The JSON value of a body; undefined for an empty one. */
export async function readJson(request: IncomingMessage, bytesMax: number): Promise<unknown> {
  const body = await readBody(request, bytesMax)
  if (body.length === 0) return undefined
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type)) {
    throw new HoldfastError(
      'invalid_request',
      `the content type is ${type === '' ? 'missing' : JSON.stringify(type)}; send application/json`,
    )
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown
  } catch (cause) {
    throw new HoldfastError('invalid_request', `the body is not JSON: ${messageOf(cause)}`, { cause })
  }
}
