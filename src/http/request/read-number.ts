/** Parses whole numbers of a query. */
import { HoldfastError } from '../../core/model/errors.ts'

/** A whole number of the query. Larger numbers are reduced to `most`. */
export function readNumber(
  query: URLSearchParams,
  name: string,
  most: number,
  least: number,
  fallback: number = most,
): number {
  const text = query.get(name)
  if (text === null) return fallback
  if (!/^\d{1,10}$/.test(text) || Number(text) < least) {
    throw new HoldfastError(
      'invalid_request',
      `${name} is ${JSON.stringify(text.slice(0, 100))}; it must be a whole number of at least ${least}`,
    )
  }
  return Math.min(Number(text), most)
}
