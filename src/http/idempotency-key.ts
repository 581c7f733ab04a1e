/** The Idempotency-Key header, which deduplicates starts (RUN-4). */
import { HoldfastError } from '../core/model/errors.ts'

export function readIdempotencyKey(
  header: string | readonly string[] | undefined,
  charsMax: number,
): string | undefined {
  const key = typeof header === 'object' ? header[0] : header
  if (key === undefined || (key !== '' && key.length <= charsMax)) return key
  throw new HoldfastError('invalid_request', `Idempotency-Key must have 1 to ${charsMax} characters`)
}
