/**
 * Converts a request to component input: AI SDK messages and the caller's model options (src/agents/model), or plain text, depending on
 * what the component accepts.
 */
import type { Component } from '../../../core/ports/component.ts'
import type { CallerOptions, CallerSettings } from '../../../core/model/caller-options.ts'
import { parseJsonOrText } from '../../../http/json.ts'
import { refusal } from '../wire/errors.ts'

export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly mediaType: string; readonly data: string; readonly filename?: string }
  | { readonly type: 'tool-call'; readonly toolCallId: string; readonly toolName: string; readonly input: unknown }
  | {
      readonly type: 'tool-result'
      readonly toolCallId: string
      readonly toolName: string
      readonly output: { readonly type: 'text'; readonly value: string }
    }

export interface Message {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: string | readonly ContentPart[]
}

export interface Conversation {
  readonly messages: readonly Message[]
  readonly caller: CallerOptions
  /** The messages extend the session's history. */
  readonly continues?: boolean
}

/**
 * A single text is passed as it is. Otherwise, a component that accepts conversations (by its `parse`) gets all messages, and others
 * get the last user message.
 */
export function inputFor(component: Component, { messages, caller, continues = false }: Conversation): unknown {
  if (messages.length === 0) throw refusal('the request has no messages')
  const [only] = messages
  const bare = Object.keys(caller).length === 0
  if (bare && messages.length === 1 && only!.role === 'user' && isText(only!)) return textOf(only!)
  const conversation = { messages, ...(!bare && { caller }), ...(continues && { continues }) }
  if (takes(component, conversation)) return conversation
  const last = messages.findLast(({ role }) => role === 'user')
  if (last === undefined) throw refusal(`${component.id} needs a user message, but the request has none`)
  return isText(last) ? textOf(last) : { text: textOf(last), files: filesOf(last) }
}

function takes(component: Component, input: unknown): boolean {
  if (component.parse === undefined) return false
  try {
    component.parse(input)
    return true
  } catch {
    return false
  }
}

function isText({ content }: Message): boolean {
  return typeof content === 'string' || content.every(({ type }) => type === 'text')
}

function textOf({ content }: Message): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function filesOf({ content }: Message): object[] {
  if (typeof content === 'string') return []
  return content.flatMap((part) => {
    if (part.type !== 'file') return []
    const { mediaType, data, filename } = part
    const source = /^https?:/i.test(data) ? { url: data } : { data }
    return [{ mediaType, ...source, ...(filename !== undefined && { name: filename }) }]
  })
}

/** From a URL or data URL. */
export function imagePart(url: string, param: string): ContentPart {
  const [, mediaType, data] = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[^,]*)?;base64,(.*)$/s.exec(url) ?? []
  if (data !== undefined) return { type: 'file', mediaType: mediaType ?? 'image', data }
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return { type: 'file', mediaType: 'image', data: url }
  throw refusal(`${param} must be an http(s) URL or a base64 data URL`, { param })
}

/** A file in base64, as a data URL, or by URL. */
export function filePart(
  { data, url, name }: { readonly data?: string; readonly url?: string; readonly name?: string },
  param: string,
): ContentPart {
  const filename = name === undefined ? {} : { filename: name }
  const [, mediaType, encoded] = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[^,]*)?;base64,(.*)$/s.exec(data ?? '') ?? []
  const content = encoded ?? data ?? url
  if (content === undefined) throw refusal(`${param} has no data; send the file in base64 or by URL`, { param })
  return { type: 'file', mediaType: mediaType ?? mediaTypeOf(name), data: content, ...filename }
}

function mediaTypeOf(name = ''): string {
  return /\.pdf$/i.test(name) ? 'application/pdf' : 'application/octet-stream'
}

/** Omits absent options, so that no options is an empty object. */
export function callerOf(wishes: {
  readonly [Key in keyof CallerOptions]: CallerOptions[Key] | undefined
}): CallerOptions {
  return Object.fromEntries(Object.entries(wishes).filter(([, value]) => value !== undefined))
}

/** Undefined if not specified. */
export function settingsOf(given: {
  readonly [Key in keyof CallerSettings]: CallerSettings[Key] | undefined
}): CallerSettings | undefined {
  const settings = Object.entries(given).filter(([, value]) => value !== undefined)
  return settings.length === 0 ? undefined : Object.fromEntries(settings)
}

/** Tool input from a model may be invalid JSON and is then kept as text. */
export function callInput(text: string): unknown {
  return parseJsonOrText(text)
}

/** Text content only. */
export function plainText(content: string | readonly object[]): string {
  if (typeof content === 'string') return content
  const parts = content as readonly { readonly text?: string; readonly refusal?: string }[]
  return parts.map(({ text, refusal: refused }) => text ?? refused ?? '').join('')
}
