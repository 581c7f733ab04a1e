/** Content of one append, as logged: text if it is text, so that logs stay readable, otherwise bytes. */
import { HoldfastError } from '../../../core/model/errors.ts'
import { parseJson } from '../../../http/request/json.ts'
import { splitArray } from './json-array.ts'

export type Content =
  | { readonly text: string }
  | { readonly base64: string }
  /** Messages as written: numbers keep their digits. */
  | { readonly json: readonly string[] }

/** Maximum messages in one append. */
const MESSAGES_MAX = 10_000

/** Media type without parameters, in lower case. */
export function mediaType(contentType: string): string {
  return contentType.split(';', 1)[0]!.trim().toLowerCase()
}

export function isJson(contentType: string): boolean {
  return mediaType(contentType) === 'application/json'
}

/** Whether server-sent events carry it as text. */
export function isText(contentType: string): boolean {
  return isJson(contentType) || mediaType(contentType).startsWith('text/')
}

/** Splits an array into messages, one level deep. */
export function toContent(body: Buffer, contentType: string): Content {
  const text = decode(body)
  if (!isJson(contentType))
    return text !== undefined && isText(contentType) ? { text } : { base64: body.toString('base64') }
  if (text === undefined) throw new HoldfastError('invalid_request', 'the body is not UTF-8')
  const json = Array.isArray(parseJson(text, 'the body')) ? splitArray(text) : [text.trim()]
  if (json.length > MESSAGES_MAX) throw new HoldfastError('too_large', `an append has at most ${MESSAGES_MAX} messages`)
  return { json }
}

function decode(body: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    return undefined
  }
}

export function bytesOf(content: Exclude<Content, { json: unknown }>): Buffer {
  return 'text' in content ? Buffer.from(content.text) : Buffer.from(content.base64, 'base64')
}

/** Joins contents to a response body. */
export function joinContents(contents: readonly Content[], contentType: string): Buffer {
  if (!isJson(contentType)) return Buffer.concat(contents.map((content) => bytesOf(content as { text: string })))
  return Buffer.from(`[${contents.flatMap((content) => (content as { json: string[] }).json).join(',')}]`)
}

/** The first messages or bytes of a content; undefined if it has fewer. */
export function firstPart(content: Content, count: number): Content | undefined {
  if ('json' in content) return count > content.json.length ? undefined : { json: content.json.slice(0, count) }
  const bytes = bytesOf(content)
  if (count > bytes.length) return undefined
  const part = bytes.subarray(0, count)
  const text = 'text' in content ? decode(part) : undefined
  return text === undefined ? { base64: part.toString('base64') } : { text }
}
