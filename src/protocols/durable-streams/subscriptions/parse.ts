/** Parses and validates the bodies of subscription requests. */
import { isIP } from 'node:net'
import { isHoldfastError } from '../../../core/model/errors.ts'
import { readBody } from '../../../http/request/body.ts'
import { parseJson } from '../../../http/request/json.ts'
import type { Call } from '../../../http/routing/route.ts'
import { isAllowed } from '../../../http/webhooks/addresses.ts'
import { subscriptionError } from '../wire/errors.ts'
import { type Ack, LINKS_MAX, type SubscriptionConfig } from './model.ts'

/** Where webhooks may go; false: nowhere. */
export type WebhookPolicy = false | { readonly loopback: boolean }

const BODY_BYTES_MAX = 1024 * 1024
const PATH_CHARS_MAX = 1000
const SEGMENTS_MAX = 50
const TEXT_CHARS_MAX = 1000
const URL_CHARS_MAX = 2000
const WORKER_CHARS_MAX = 200
const LEASE_MS = { fallback: 30_000, min: 1000, max: 600_000 }

type Fields = Readonly<Record<string, unknown>>

export async function readFields({ request }: Call): Promise<Fields> {
  const body = (await readBody(request, BODY_BYTES_MAX)).toString('utf8')
  try {
    const value = body === '' ? {} : parseJson(body, 'the body')
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw wrong('the body is not a JSON object')
    return value as Fields
  } catch (cause) {
    if (isHoldfastError(cause, 'invalid_request')) throw wrong(cause.message)
    throw cause
  }
}

export function parseConfig(fields: Fields, policy: WebhookPolicy): SubscriptionConfig {
  const { type, pattern, streams = [], lease_ttl_ms: lease = LEASE_MS.fallback, description } = fields
  if (type !== 'webhook' && type !== 'pull-wake') throw wrong('type is webhook or pull-wake')
  const names = parseNames(streams)
  if (pattern === undefined && names.length === 0) throw wrong('pattern or streams is required')
  if (typeof lease !== 'number' || !Number.isInteger(lease) || lease < LEASE_MS.min || lease > LEASE_MS.max)
    throw wrong(`lease_ttl_ms is a whole number from ${LEASE_MS.min} to ${LEASE_MS.max}`)
  return {
    type,
    streams: names,
    leaseTtlMs: lease,
    ...(pattern !== undefined && { pattern: parsePath('pattern', pattern) }),
    ...(type === 'webhook' && { webhook: { url: parseUrl(fields['webhook'], policy) } }),
    ...(type === 'pull-wake' && { wakeStream: parseName('wake_stream', fields['wake_stream']) }),
    ...(description !== undefined && { description: parseText('description', description, TEXT_CHARS_MAX) }),
  }
}

/** Sorted, without duplicates. */
export function parseNames(streams: unknown): readonly string[] {
  if (!Array.isArray(streams)) throw wrong('streams is a list of names')
  if (streams.length > LINKS_MAX) throw wrong(`a subscription has at most ${LINKS_MAX} streams`)
  return [...new Set(streams.map((stream) => parseName('streams', stream)))].toSorted()
}

/** The name of a stream that clients write. */
export function parseName(field: string, value: unknown): string {
  const name = parsePath(field, value)
  if (/^run_[0-9a-z]+$/i.test(name)) throw wrong(`${field}: ${name} is a run; subscriptions are for streams of clients`)
  if (name === '__ds' || name.startsWith('__ds/')) throw wrong(`${field}: names that begin with __ds are reserved`)
  return name
}

function parsePath(field: string, value: unknown): string {
  const path = parseText(field, value, PATH_CHARS_MAX).replaceAll(/^\/+|\/+$/g, '')
  if (path === '') throw wrong(`${field} is empty`)
  if (path.split('/').length > SEGMENTS_MAX) throw wrong(`${field} has more than ${SEGMENTS_MAX} segments`)
  return path
}

function parseText(field: string, value: unknown, maxChars: number): string {
  if (typeof value !== 'string') throw wrong(`${field} is not text`)
  if (value.length > maxChars) throw wrong(`${field} has more than ${maxChars} characters`)
  if (!value.isWellFormed() || value.includes('\0')) throw wrong(`${field} has a character that cannot be stored`)
  return value
}

function parseUrl(webhook: unknown, policy: WebhookPolicy): string {
  const text = parseText('webhook.url', (webhook as Fields | null | undefined)?.['url'], URL_CHARS_MAX)
  const url = URL.parse(text)
  if (policy === false) return refuse('is refused: this server does not send webhooks')
  if (url === null || !/^https?:$/.test(url.protocol)) return refuse('is not an http(s) address')
  if (url.username !== '' || url.password !== '') return refuse('has a user name or a password, which responses show')
  const host = url.hostname.replaceAll(/^\[|\]$/g, '')
  const isLocal = /^(?:.+\.)?localhost\.?$/i.test(host)
  if (isIP(host) !== 0 ? !isAllowed(host, policy.loopback) : isLocal && !policy.loopback)
    return refuse('is not a public address')
  if (url.protocol === 'http:' && !isLocal && !(isIP(host) !== 0 && !isAllowed(host, false)))
    return refuse('must begin with https://')
  return text
}

function refuse(why: string): never {
  throw subscriptionError('WEBHOOK_URL_REJECTED', `webhook.url ${why}`)
}

export function parseWorker({ worker }: Fields): string {
  const name = parseText('worker', worker, WORKER_CHARS_MAX)
  if (name === '') throw wrong('worker is empty')
  return name
}

export interface WakeRequest {
  readonly wakeId: unknown
  readonly generation: unknown
  readonly acks: readonly Ack[]
  readonly done: boolean
}

export function parseWakeRequest(fields: Fields): WakeRequest {
  const { wake_id: wakeId, generation, acks = [], done = false } = fields
  if (!Array.isArray(acks) || acks.length > LINKS_MAX) throw wrong(`acks is a list of at most ${LINKS_MAX}`)
  if (typeof done !== 'boolean') throw wrong('done is true or false')
  return { wakeId, generation, done, acks: acks.map(parseAck) }
}

function parseAck(ack: unknown): Ack {
  const { stream, path, offset } = (ack ?? {}) as Fields
  return { stream: parsePath('acks.stream', stream ?? path), offset: parseText('acks.offset', offset, PATH_CHARS_MAX) }
}

export function wrong(message: string): Error {
  return subscriptionError('INVALID_REQUEST', message)
}
