/** Parses a request that starts a run: the component's input, and the run's metadata. */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Form, UploadedFile } from '../../../http/request/form.ts'
import { fieldError } from '../wire/errors.ts'
import { type Fields, jsonField, listField, nameField, objectField, switchField, textField } from './fields.ts'

export interface RunForm {
  readonly input: unknown
  /** The run id that the client chose. */
  readonly runId?: string
  readonly session: string | undefined
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  readonly stream: boolean
  readonly background: boolean
  /** Stop the run when the client disconnects. */
  readonly cancelOnDisconnect: boolean | undefined
  /** Also report a failed run by the HTTP status. */
  readonly httpErrors: boolean
}

export function parseRunForm({ fields, files }: Form, maxNameChars: number): RunForm {
  const message = messageOf(fields)
  const given = [...files.map(fileOf), ...MEDIA_FIELDS.flatMap((name) => mediaIn(fields, name))]
  const runId = nameField(fields, 'run_id', RUN_ID_CHARS_MAX)
  return {
    ...(runId !== undefined && { runId }),
    input: given.length === 0 ? message : { text: message, files: given },
    session: nameField(fields, 'session_id', maxNameChars),
    metadata: metadataOf(fields, maxNameChars),
    ...modesOf(fields),
  }
}

export type RunModes = Pick<RunForm, 'stream' | 'background' | 'cancelOnDisconnect' | 'httpErrors'>

/** Response options, shared by start and continue. */
export function modesOf(fields: Fields): RunModes {
  const leaving = textField(fields, 'on_disconnect')
  if (leaving !== undefined && leaving !== 'cancel' && leaving !== 'continue')
    throw fieldError('body', 'on_disconnect', 'enum', "Input should be 'continue' or 'cancel'")
  return {
    stream: switchField(fields, 'stream', true),
    background: switchField(fields, 'background', false),
    cancelOnDisconnect: leaving === undefined ? undefined : leaving === 'cancel',
    httpErrors: switchField(fields, 'http_errors', false),
  }
}

function messageOf(fields: Fields): string {
  const { message } = fields
  if (message === undefined || message === null) throw fieldError('body', 'message', 'missing', 'Field required')
  return typeof message === 'string' ? message : JSON.stringify(message)
}

const RUN_ID_CHARS_MAX = 128

const OBJECTS = ['session_state', 'dependencies'] as const
const VALUES = ['knowledge_filters', 'output_schema', 'factory_input'] as const
/** Fields of the protocol. Others are passed to the component. */
const KNOWN = new Set<string>([
  'message',
  'stream',
  'background',
  'session_id',
  'user_id',
  'files',
  'metadata',
  'stream_events',
  'on_disconnect',
  'http_errors',
  'monitor',
  'images',
  'audio',
  'videos',
  'input_files',
  ...OBJECTS,
  ...VALUES,
])

/** The caller's metadata, plus other request fields under `agentos`. */
function metadataOf(fields: Fields, maxNameChars: number): RunForm['metadata'] {
  const user = nameField(fields, 'user_id', maxNameChars)
  const own = {
    ...(user !== undefined && { user_id: user }),
    ...(!switchField(fields, 'stream_events', true) && { stream_events: false }),
    ...defined(OBJECTS.map((name) => [name, objectField(fields, name)])),
    ...defined(VALUES.map((name) => [name, jsonField(fields, name)])),
    ...defined(Object.entries(fields).filter(([name]) => !KNOWN.has(name))),
  }
  const given = objectField(fields, 'metadata')
  if (given === undefined && Object.keys(own).length === 0) return undefined
  return { ...given, ...(Object.keys(own).length > 0 && { agentos: own }) }
}

function defined(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

interface InputFile {
  readonly mediaType: string
  readonly data?: string
  readonly url?: string
  readonly name?: string
}

/** Media types by extension, for files without a type. */
const EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['heic', 'image/heic'],
  ['wav', 'audio/wav'],
  ['mp3', 'audio/mpeg'],
  ['ogg', 'audio/ogg'],
  ['m4a', 'audio/mp4'],
  ['mp4', 'video/mp4'],
  ['webm', 'video/webm'],
  ['mov', 'video/quicktime'],
  ['pdf', 'application/pdf'],
  ['csv', 'text/csv'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
  ['html', 'text/html'],
  ['json', 'application/json'],
  ['xml', 'application/xml'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
])
const SUPPORTED = /^(?:(?:image|audio|video|text)\/|application\/(?:pdf|json|xml|rtf|msword|vnd\.))/

function fileOf({ name, mediaType, bytes }: UploadedFile): InputFile {
  const declared = mediaType.split(';')[0]!.trim().toLowerCase()
  const extension = name.split('.').at(-1)!.toLowerCase()
  const byName = EXTENSIONS.get(extension)
  const known = SUPPORTED.test(declared) ? declared : byName
  if (known === undefined) throw new HoldfastError('invalid_request', `Unsupported file type: ${name.slice(0, 200)}`)
  return { mediaType: known, data: bytes.toString('base64'), ...(name !== '' && { name }) }
}

const MEDIA_FIELDS = ['images', 'audio', 'videos', 'input_files'] as const
const MEDIA_TYPES: ReadonlyMap<string, string> = new Map([
  ['images', 'image'],
  ['audio', 'audio'],
  ['videos', 'video'],
  ['input_files', 'application/octet-stream'],
])

/** Media in JSON, each with a URL or its content. */
function mediaIn(fields: Fields, field: string): InputFile[] {
  return (listField(fields, field) ?? []).map((item, position) => {
    const { url, content, mime_type: type, filename, name = filename } = item
    const mediaType = typeof type === 'string' ? type : MEDIA_TYPES.get(field)!
    const data = typeof content === 'string' ? base64Of(content, mediaType) : undefined
    const where = typeof url === 'string' ? { url } : data === undefined ? undefined : { data }
    if (where === undefined)
      throw new HoldfastError('invalid_request', `${field}[${position}] needs a url or its content in base64`)
    return { mediaType, ...where, ...(typeof name === 'string' && { name }) }
  })
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** agno sends text files as plain text and others in base64. */
function base64Of(content: string, mediaType: string): string | undefined {
  if (mediaType.startsWith('text/')) return Buffer.from(content).toString('base64')
  return BASE64.test(content) ? content : undefined
}
