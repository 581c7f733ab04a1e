/** Reads the headers and query of an HTTP request. */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Call } from '../../../http/routing/route.ts'
import { activate, parseNames } from './extensions.ts'
import type { OperationCaller } from './operations.ts'
import type { A2aOptions, AgentCardOptions } from '../wire/options.ts'
import { parseVersion, type Version } from './version.ts'

/** A service parameter: a header, or a query parameter of the same name. */
export function parameter(call: Call, name: string): string | undefined {
  const header = call.request.headers[name.toLowerCase()]
  return (Array.isArray(header) ? header.join(',') : header) ?? call.query.get(name) ?? undefined
}

export function versionOf(call: Call): Version {
  return parseVersion(parameter(call, 'A2A-Version'))
}

/** The caller context of a request, for the version of the response. */
export function callerOf(call: Call, version: Version, about: AgentCardOptions, options: A2aOptions): OperationCaller {
  const named = [...parseNames(parameter(call, 'A2A-Extensions')), ...parseNames(parameter(call, 'X-A2A-Extensions'))]
  const extensions = activate(about, named)
  if (extensions.size > 0)
    call.response.setHeader(version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions', [...extensions].join(', '))
  return {
    principal: call.principal,
    tenant: call.params['tenant'] ?? '',
    version,
    url: urlOf(call, options),
    extensions,
    signal: call.signal,
    idempotencyKey: parameter(call, 'Idempotency-Key'),
    after: parameter(call, 'Last-Event-ID'),
  }
}

export function urlOf({ peer: { protocol, host }, base }: Call, { url }: A2aOptions): string {
  if (url !== undefined) return url.replace(/\/+$/, '')
  if (!/^[a-z0-9._-]+(?::\d{1,5})?$|^\[[0-9a-f:.]+\](?::\d{1,5})?$/i.test(host))
    throw new HoldfastError('invalid_request', 'the Host header is not a valid host name')
  return `${protocol}://${host}${base}`
}
