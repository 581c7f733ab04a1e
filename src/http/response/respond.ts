/** Non-streaming responses. */
import type { HttpResponse } from '../exchange.ts'
import type { ErrorResponse } from '../routing/route.ts'

/** Sent with every response: pages of other origins can neither embed it nor show it in a frame. */
export const ISOLATION_HEADERS = { 'cross-origin-resource-policy': 'same-origin', 'x-frame-options': 'DENY' } as const

export function respondJson(
  response: HttpResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  respondText(response, status, 'application/json; charset=utf-8', JSON.stringify(body), headers)
}

export function respondText(
  response: HttpResponse,
  status: number,
  contentType: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...ISOLATION_HEADERS,
    ...headers,
  })
  response.end(body)
}

/** Size of a value as JSON. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}

export function respondEmpty(response: HttpResponse, status: number): void {
  response.writeHead(status, { 'cache-control': 'no-store', ...ISOLATION_HEADERS }).end()
}

/** The value of `Retry-After`. */
export function retrySeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000))
}

export function setRetryAfter(
  response: HttpResponse,
  { retryAfterMs }: { readonly retryAfterMs?: number | undefined },
): void {
  if (retryAfterMs !== undefined) response.setHeader('retry-after', retrySeconds(retryAfterMs))
}

export function respondError(response: HttpResponse, error: ErrorResponse): void {
  respondText(response, error.status, error.contentType, error.body, error.headers)
}
