/** Reads a request body up to a size limit. */
import { HoldfastError, messageOf } from '../../core/model/errors.ts'
import type { HttpRequest } from '../exchange.ts'
import { parseJson } from './json.ts'

export async function readBody(request: HttpRequest, maxBytes: number): Promise<Buffer> {
  const tooLarge = (): HoldfastError => new HoldfastError('too_large', `the body is larger than ${maxBytes} bytes`)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  if (request.readableEnded) {
    const body = bodyReadBefore(request)
    if (body.length > maxBytes) throw tooLarge()
    return body
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      // An async iterator would destroy the request, and with it the socket that the response still needs.
      if (bytes > maxBytes) reject(tooLarge())
      else chunks.push(chunk)
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    // A client error, so that it is not logged as a server fault.
    const cutOff = (cause?: Error): void =>
      reject(new HoldfastError('invalid_request', 'the request was cut off before its body was complete', { cause }))
    request.on('error', cutOff)
    request.on('close', () => cutOff())
  })
}

/** The body that a host application's parser has already read: in `body`, or its bytes in `rawBody`. */
function bodyReadBefore(request: HttpRequest): Buffer {
  const { body, rawBody } = request as { readonly body?: unknown; readonly rawBody?: unknown }
  const parsed = rawBody ?? body
  if (parsed instanceof Uint8Array) return Buffer.from(parsed)
  if (typeof parsed === 'string') return Buffer.from(parsed)
  const type = request.headers['content-type'] ?? ''
  if (parsed !== undefined && /json\b/i.test(type)) return Buffer.from(JSON.stringify(parsed))
  if (typeof parsed === 'object' && parsed !== null && /^application\/x-www-form-urlencoded/i.test(type))
    return Buffer.from(new URLSearchParams(parsed as Record<string, string>).toString())
  if (Number(request.headers['content-length'] ?? 0) === 0 && request.headers['transfer-encoding'] === undefined)
    return Buffer.alloc(0)
  throw new HoldfastError(
    'internal',
    'the body was read before the request came here: mount the server before body parsers',
  )
}

/** The parsed JSON body; undefined if the body is empty. `anyType`: for clients that send JSON as text. */
export async function readJson(
  request: HttpRequest,
  maxBytes: number,
  { anyType = false }: { readonly anyType?: boolean } = {},
): Promise<unknown> {
  const body = await readBody(request, maxBytes)
  if (body.length === 0) return undefined
  const type = request.headers['content-type'] ?? ''
  if (!anyType && !/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type)) {
    throw new HoldfastError(
      'invalid_request',
      `the content type is ${type === '' ? 'missing' : JSON.stringify(type)}; send application/json`,
    )
  }
  return parseJson(decode(body), 'the body')
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (cause) {
    throw new HoldfastError('invalid_request', `the body is not JSON: ${messageOf(cause)}`, { cause })
  }
}
