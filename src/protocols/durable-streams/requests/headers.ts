/** Parses and validates request headers. */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { HttpRequest } from '../../../http/exchange.ts'
import type { ProducerPosition } from '../view/stream-state.ts'

export function header(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Whether the header is `true`. All other values count as absent. */
export function isSet(request: HttpRequest, name: string): boolean {
  return header(request, name)?.toLowerCase() === 'true'
}

const INTEGER = /^(0|[1-9]\d*)$/

/** A canonical whole number: no sign, no leading zero. */
export function wholeNumber(name: string, text: string): number {
  const value = Number(text)
  if (!INTEGER.test(text) || !Number.isSafeInteger(value)) throw wrong(`${name} is not a whole number`)
  return value
}

/** Lifetime of a stream: a time after its last access, or a fixed end. */
export interface Lifetime {
  readonly ttl?: number
  readonly expiresAt?: string
}

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/

export function readLifetime(request: HttpRequest): Lifetime {
  const ttl = header(request, 'stream-ttl')
  const expiresAt = header(request, 'stream-expires-at')
  if (ttl !== undefined && expiresAt !== undefined)
    throw wrong('Stream-TTL and Stream-Expires-At cannot be combined: send one of them')
  if (ttl !== undefined) return { ttl: wholeNumber('Stream-TTL', ttl) }
  if (expiresAt === undefined) return {}
  if (!RFC_3339.test(expiresAt) || Number.isNaN(Date.parse(expiresAt)))
    throw wrong('Stream-Expires-At is not an RFC 3339 time')
  return { expiresAt: new Date(expiresAt).toISOString() }
}

const PRODUCER_CHARS_MAX = 200
const SEQ_CHARS_MAX = 200

/** Kept with every append, and compared as text. */
export function readSeq(request: HttpRequest): string | undefined {
  const seq = header(request, 'stream-seq')
  if (seq !== undefined && seq.length > SEQ_CHARS_MAX) throw wrong(`Stream-Seq has at most ${SEQ_CHARS_MAX} characters`)
  return seq
}

/** Requires all three headers, or none. */
export function readProducer(request: HttpRequest): ProducerPosition | undefined {
  const [id, epoch, seq] = ['producer-id', 'producer-epoch', 'producer-seq'].map((name) => header(request, name))
  if (id === undefined && epoch === undefined && seq === undefined) return undefined
  if (id === undefined || epoch === undefined || seq === undefined)
    throw wrong('Producer-Id, Producer-Epoch and Producer-Seq belong together')
  if (id === '' || id.length > PRODUCER_CHARS_MAX) throw wrong(`Producer-Id has 1 to ${PRODUCER_CHARS_MAX} characters`)
  return { id, epoch: wholeNumber('Producer-Epoch', epoch), seq: wholeNumber('Producer-Seq', seq) }
}

export function wrong(message: string): HoldfastError {
  return new HoldfastError('invalid_request', message)
}
