/** Filters headers of passed requests and responses. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'

/** Headers of one connection, or about the address that the client used. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
const OWN_REQUEST = [
  'host',
  'content-length',
  'expect',
  'accept-encoding',
  'authorization',
  'cookie',
  'forwarded',
  'origin',
]
/** Cookies and permissions of the upstream would apply to this server's origin. */
const OWN_RESPONSE = ['set-cookie', 'content-security-policy', 'strict-transport-security', 'alt-svc']

/** `own`: headers that replace the caller's credential. Without it, the credential is forwarded. */
export function requestHeaders(
  given: IncomingHttpHeaders,
  own: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const dropped = new Set([...HOP_BY_HOP, ...OWN_REQUEST, ...namedIn(given.connection)])
  const passed = Object.entries(given).flatMap(([name, value]) =>
    value === undefined || dropped.has(name) || name.startsWith('x-forwarded-') || name.startsWith('sec-')
      ? []
      : [[name, String(value)] as const],
  )
  const credential = given.authorization === undefined ? {} : { authorization: given.authorization }
  return { ...Object.fromEntries(passed), 'accept-encoding': 'identity', ...(own ?? credential) }
}

/** Prevents a page of the upstream from acting with this server's origin. */
export function responseHeaders(given: IncomingHttpHeaders): OutgoingHttpHeaders {
  const dropped = new Set([...HOP_BY_HOP, ...OWN_RESPONSE, ...namedIn(given.connection)])
  const passed = Object.entries(given).filter(([name]) => !dropped.has(name) && !name.startsWith('access-control-'))
  return {
    ...Object.fromEntries(passed),
    'content-security-policy': 'sandbox',
    'x-content-type-options': 'nosniff',
  }
}

/** Headers that `Connection` declares as hop-by-hop. */
function namedIn(connection: string | undefined): string[] {
  return (connection ?? '').split(',').map((name) => name.trim().toLowerCase())
}
