/** Decides whether a failed request is safe to retry: the server certainly did not process it. */

/** Error codes of connections that were never established. */
const NEVER_CONNECTED: readonly unknown[] = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]

/** By the error code of a failed `fetch`. */
export function isNeverConnected(code: unknown): boolean {
  return NEVER_CONNECTED.includes(code)
}

/** By the status of a response: the server refused the request before it acted. */
export function wasRejectedUnprocessed(status: number): boolean {
  return status === 429 || status === 503
}
