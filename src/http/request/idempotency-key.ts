/** The Idempotency-Key header, which deduplicates starts (RUN-4). */
import { HoldfastError } from '../../core/model/errors.ts'

export function readIdempotencyKey(
  header: string | readonly string[] | undefined,
  maxChars: number,
): string | undefined {
  const key = typeof header === 'object' ? header[0] : header
  if (key === undefined || (key !== '' && key.length <= maxChars)) return key
  throw new HoldfastError('invalid_request', `Idempotency-Key must have 1 to ${maxChars} characters`)
}
