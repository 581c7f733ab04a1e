/** Reads a small JSON answer of an upstream, for lists that have more than what the upstream says. */
import type { IncomingMessage } from 'node:http'
import { HoldfastError } from '../../core/model/errors.ts'
import { openRequest } from './open-request.ts'

export interface FetchedJson {
  readonly status: number
  /** Undefined if it is not JSON. */
  readonly body: unknown
}

/** Until the whole answer is there. */
const ANSWER_MS = 10_000
const ANSWER_BYTES_MAX = 4 * 1024 * 1024

/** Throws `unavailable` if there is no answer in time, or one that is too large. */
export async function fetchJson(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<FetchedJson> {
  try {
    const answer = await open(url, headers, AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]))
    const pieces: Buffer[] = []
    let bytes = 0
    for await (const piece of answer as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > ANSWER_BYTES_MAX) throw new Error(`the response has more than ${ANSWER_BYTES_MAX} bytes`)
      pieces.push(piece)
    }
    return { status: answer.statusCode!, body: valueIn(Buffer.concat(pieces).toString()) }
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
