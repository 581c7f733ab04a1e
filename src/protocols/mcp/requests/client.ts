/**
 * The client of a request: its protocol revision and its capabilities. The server stores nothing about clients. Since 2026-07-28
 * every request contains them. Clients of earlier revisions send them once, and the session id that they get in return contains
 * them.
 */
import type { HttpRequest } from '../../../http/exchange.ts'
import { HEADER_MISMATCH, INVALID_PARAMS, rpcError, UNSUPPORTED_VERSION } from '../wire/errors.ts'
import { isObject } from '../../../core/model/is-object.ts'
import type { Params, RpcMessage } from './message.ts'

export const MODERN_VERSION = '2026-07-28'
/** Newest first. */
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26']
export const SUPPORTED_VERSIONS: readonly string[] = [MODERN_VERSION, ...LEGACY_VERSIONS]

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities'

export interface McpClient {
  readonly era: 'legacy' | 'modern'
  readonly version: string
  /** Whether it can show a form to a person. */
  readonly supportsElicitation: boolean
  /** Whether it accepts a task instead of a result. Clients of 2025-11-25 declare it in each call. */
  readonly takesTasks: boolean
  readonly session?: string
}

export function clientOf(request: HttpRequest, message: RpcMessage): McpClient {
  const named = headerIn(request, 'mcp-protocol-version')
  const meta = message.kind === 'response' ? {} : metaIn(message.params)
  const claimed = meta[VERSION_KEY]
  if (claimed === undefined && (named === undefined || named !== MODERN_VERSION)) return legacyClient(request, named)
  if (message.kind === 'request') checkEnvelope(request, message, meta, named)
  const capabilities = meta[CAPABILITIES_KEY]
  const { extensions } = isObject(capabilities) ? capabilities : {}
  return {
    era: 'modern',
    version: MODERN_VERSION,
    supportsElicitation: supportsElicitationForms(capabilities),
    takesTasks: isObject(extensions) && isObject(extensions[TASKS_EXTENSION]),
  }
}

function metaIn({ _meta: meta }: Params): Params {
  return isObject(meta) ? meta : {}
}

function checkEnvelope(
  request: HttpRequest,
  { method, params }: Extract<RpcMessage, { kind: 'request' }>,
  meta: Params,
  named: string | undefined,
): void {
  const claimed = meta[VERSION_KEY]
  if (typeof claimed !== 'string' || !isObject(meta[CAPABILITIES_KEY]))
    throw rpcError(INVALID_PARAMS, `params._meta needs ${VERSION_KEY} and ${CAPABILITIES_KEY}`, { status: 400 })
  if (claimed !== MODERN_VERSION) throw unsupported(claimed)
  if (named !== claimed) throw mismatch('MCP-Protocol-Version', named, claimed)
  const header = headerIn(request, 'mcp-method')
  if (header !== method) throw mismatch('Mcp-Method', header, method)
  const field = method === 'tools/call' ? 'name' : /^tasks\/(?:get|update|cancel)$/.test(method) ? 'taskId' : undefined
  const value = field === undefined ? undefined : params[field]
  if (typeof value !== 'string') return
  const given = headerIn(request, 'mcp-name')
  if (given === undefined || decodeHeader(given) !== value) throw mismatch('Mcp-Name', given, value)
}

function mismatch(name: string, header: string | undefined, body: string): Error {
  const text = `the header ${name} is ${header === undefined ? 'missing' : JSON.stringify(header)}, but the body says ${JSON.stringify(body.slice(0, 200))}`
  return rpcError(HEADER_MISMATCH, text, { status: 400 })
}

function unsupported(requested: string): Error {
  return rpcError(UNSUPPORTED_VERSION, `protocol version ${JSON.stringify(requested.slice(0, 50))} is not supported`, {
    as: 'unsupported',
    status: 400,
    data: { supported: SUPPORTED_VERSIONS, requested: requested.slice(0, 50) },
  })
}

/** Decodes `=?base64?…?=`, the form of values that a header cannot contain. */
function decodeHeader(value: string): string {
  const [, encoded] = /^=\?base64\?([\w+/]*=*)\?=$/.exec(value) ?? []
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString()
}

function legacyClient(request: HttpRequest, named: string | undefined): McpClient {
  if (named !== undefined && !LEGACY_VERSIONS.includes(named)) throw unsupported(named)
  const session = headerIn(request, 'mcp-session-id')
  const [, flags] = session === undefined ? [] : (/^[\w-]{1,100}\.(e?)$/.exec(session) ?? [])
  if (session !== undefined && flags === undefined)
    throw rpcError(INVALID_PARAMS, 'Mcp-Session-Id is not one of this server: initialize again', {
      as: 'not_found',
      status: 404,
    })
  return {
    era: 'legacy',
    version: named ?? '2025-03-26',
    supportsElicitation: flags === 'e',
    takesTasks: false,
    ...(session !== undefined && { session }),
  }
}

/** `id`: a unique id. */
export function toSessionId(id: string, capabilities: unknown): string {
  return `${id.replaceAll(/[^\w-]/g, '')}.${supportsElicitationForms(capabilities) ? 'e' : ''}`
}

function supportsElicitationForms(capabilities: unknown): boolean {
  const elicitation = isObject(capabilities) ? capabilities['elicitation'] : undefined
  if (!isObject(elicitation)) return false
  return isObject(elicitation['form']) || elicitation['url'] === undefined
}

function headerIn({ headers }: HttpRequest, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value.trim() : undefined
}
