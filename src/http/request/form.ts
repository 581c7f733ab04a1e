/** Reads a form up to a size limit: urlencoded, multipart with files, or the same fields as a JSON object. */
import { HoldfastError, messageOf } from '../../core/model/errors.ts'
import { readBody, readJson } from './body.ts'
import type { HttpRequest } from '../exchange.ts'

export interface Form {
  /** Strings in a form, any value in JSON. The last value of a repeated field wins. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly files: readonly UploadedFile[]
}

export interface UploadedFile {
  readonly field: string
  readonly name: string
  /** As declared by the client; may be empty. */
  readonly mediaType: string
  readonly bytes: Buffer
}

export async function readForm(request: HttpRequest, maxBytes: number): Promise<Form> {
  const type = request.headers['content-type'] ?? ''
  if (/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) {
    const body = await readBody(request, maxBytes)
    refuseCrowded(occurrences(body, '&') + 1)
    replacePluses(body)
    return { fields: Object.fromEntries(new URLSearchParams(body.toString())), files: [] }
  }
  if (/^multipart\/form-data\s*;/i.test(type)) return readMultipart(type, await readBody(request, maxBytes))
  return { fields: fieldsOf(await readJson(request, maxBytes)), files: [] }
}

/** Maximum fields per form: a body could hold millions, and parsing costs more per field than per byte. */
const FIELDS_MAX = 1000

function refuseCrowded(fields: number): void {
  if (fields > FIELDS_MAX) throw new HoldfastError('too_large', `the form has more than ${FIELDS_MAX} fields`)
}

/** Stops counting above `FIELDS_MAX`. */
function occurrences(text: Buffer, part: string): number {
  let count = 0
  for (let at = text.indexOf(part); at >= 0 && count <= FIELDS_MAX; at = text.indexOf(part, at + part.length)) count++
  return count
}

/** Replaces `+` with the space it encodes, because the parser is slow on each `+`. */
function replacePluses(body: Buffer): void {
  for (let at = 0; at < body.length; at++) if (body[at] === PLUS) body[at] = SPACE
}

const PLUS = 0x2b
const SPACE = 0x20

const HEADERS_END = '\r\n\r\n'

/** Maximum header bytes per part: the parser is slower on headers than on content. */
const HEADERS_BYTES_MAX = 16 * 1024

function boundaryIn(type: string): string {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"\\]+)"|([^\s";,\\]+))\s*(?:;|$)/i.exec(type) ?? []
  const boundary = quoted ?? plain
  if (boundary !== undefined) return boundary
  throw new HoldfastError('invalid_request', 'the content type of the form has no valid boundary')
}

function refuseLongHeaders(body: Buffer, boundary: string): void {
  const delimiter = `--${boundary}`
  for (let at = body.indexOf(delimiter); at >= 0; at = body.indexOf(delimiter, at + delimiter.length)) {
    const end = body.indexOf(HEADERS_END, at)
    if ((end < 0 ? body.length : end) - at > HEADERS_BYTES_MAX)
      throw new HoldfastError('too_large', `a part of the form has more than ${HEADERS_BYTES_MAX} bytes of headers`)
    if (end >= 0) at = end
  }
}

function fieldsOf(body: unknown): Readonly<Record<string, unknown>> {
  if (body === undefined) return {}
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>
  throw new HoldfastError('invalid_request', 'the body must be a form, or a JSON object with its fields')
}

/** Uses the platform's parser, after the limits were checked on the complete body. */
async function readMultipart(type: string, body: Buffer): Promise<Form> {
  // One per part. File content that looks like it is counted too, which errs on the safe side.
  refuseCrowded(occurrences(body, HEADERS_END))
  const boundary = boundaryIn(type)
  refuseLongHeaders(body, boundary)
  let data: FormData
  try {
    const headers = { 'content-type': `multipart/form-data; boundary="${boundary}"` }
    data = await new Response(new Uint8Array(body), { headers }).formData()
  } catch (cause) {
    throw new HoldfastError('invalid_request', `the body is not a multipart form: ${messageOf(cause)}`, { cause })
  }
  const fields: Record<string, unknown> = {}
  const files: UploadedFile[] = []
  for (const [field, value] of data.entries()) {
    if (typeof value === 'string') fields[field] = value
    else
      files.push({
        field,
        name: value.name,
        mediaType: value.type,
        bytes: Buffer.from(await value.arrayBuffer()),
      })
  }
  return { fields, files }
}
