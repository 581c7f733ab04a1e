/** Converts a request to component input. */
import type { CallerOptions, CallerSettings } from '../../../core/model/caller-options.ts'
import type { ContentPart } from '../../../core/schema/conversation.ts'
import { parseJsonOrText } from '../../../http/request/json.ts'
import { refusal } from '../wire/errors.ts'

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
export function callerOptionsOf(requested: {
  readonly [Key in keyof CallerOptions]: CallerOptions[Key] | undefined
}): CallerOptions {
  return Object.fromEntries(Object.entries(requested).filter(([, value]) => value !== undefined))
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
