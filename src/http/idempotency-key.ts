/** The key by which a start that is repeated is known to be the same start (RUN-4). */
import type { IncomingMessage } from 'node:http'
import { HoldfastError } from '../core/errors.ts'

export function readIdempotencyKey({ headers }: IncomingMessage, charsMax: number): string | undefined {
  const header = headers['idempotency-key']
  const key = Array.isArray(header) ? header[0] : header
  if (key === undefined || (key !== '' && key.length <= charsMax)) return key
  throw new HoldfastError('invalid_request', `Idempotency-Key must have 1 to ${charsMax} characters`)
}
