/** Fetches a small JSON document from an upstream, to merge its list with this server's. */
import type { IncomingMessage } from 'node:http'
import { HoldfastError } from '../../core/model/errors.ts'
import { openRequest } from './open-request.ts'

export interface FetchedJson {
  readonly status: number
  /** Undefined if it is not JSON. */
  readonly body: unknown
}

/** Time limit for the whole response. */
const RESPONSE_TIMEOUT_MS = 10_000
const RESPONSE_BYTES_MAX = 4 * 1024 * 1024

/** Throws `unavailable` if the response is late or too large. */
export async function fetchJson(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<FetchedJson> {
  try {
    const response = await open(url, headers, AbortSignal.any([signal, AbortSignal.timeout(RESPONSE_TIMEOUT_MS)]))
    const pieces: Buffer[] = []
    let bytes = 0
    for await (const piece of response as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > RESPONSE_BYTES_MAX) throw new Error(`the response has more than ${RESPONSE_BYTES_MAX} bytes`)
      pieces.push(piece)
    }
    return { status: response.statusCode!, body: valueIn(Buffer.concat(pieces).toString()) }
  } catch (cause) {
    throw new HoldfastError('unavailable', 'the upstream did not respond: try again later', { cause })
  }
}

function open(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    openRequest(url, { method: 'GET', headers, signal }).on('response', resolve).on('error', reject).end()
  })
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
