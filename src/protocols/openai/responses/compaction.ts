/**
 * A conversation as one opaque item, which a caller sends instead of the conversation. It contains the compressed messages: nothing
 * is summarized, and the item is neither secret from the caller nor trusted more than messages from the caller.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Message } from '../../../core/schema/conversation.ts'
import { parseJson } from '../../../http/request/json.ts'
import { refusal } from '../wire/errors.ts'

const PREFIX = 'hf1.'
/** Maximum size of the conversation in an item. */
const MAX_BYTES = 4 * 1024 * 1024
const ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant', 'tool'])

export function sealCompaction(messages: readonly Message[]): string {
  const json = Buffer.from(JSON.stringify(messages))
  if (json.length > MAX_BYTES)
    throw refusal(`the conversation has ${json.length} bytes; at most ${MAX_BYTES} can be compacted`, {
      param: 'input',
    })
  return PREFIX + deflateRawSync(json).toString('base64url')
}

export function openCompaction(sealed: string, param: string): readonly Message[] {
  const messages = sealed.startsWith(PREFIX) ? inflated(sealed.slice(PREFIX.length)) : undefined
  if (Array.isArray(messages) && messages.every(isMessage)) return messages
  throw refusal(`${param}.encrypted_content is not a compaction of this server`, { param })
}

function inflated(text: string): unknown {
  try {
    const json = inflateRawSync(Buffer.from(text, 'base64url'), { maxOutputLength: MAX_BYTES }).toString()
    return parseJson(json, 'the compaction')
  } catch {
    return undefined
  }
}

function isMessage(value: unknown): value is Message {
  const { role, content } = (value ?? {}) as { readonly role?: unknown; readonly content?: unknown }
  return ROLES.has(role) && (typeof content === 'string' || (Array.isArray(content) && content.every(isPart)))
}

const REQUIRED: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['text', ['text']],
  ['file', ['mediaType', 'data']],
  ['tool-call', ['toolCallId', 'toolName']],
  ['tool-result', ['toolCallId', 'toolName']],
])

/** Other fields are checked by the component's input schema. */
function isPart(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const part = value as Readonly<Record<string, unknown>>
  return REQUIRED.get(part['type'])?.every((field) => typeof part[field] === 'string') === true
}
