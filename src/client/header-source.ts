/** Headers that a caller adds to requests: a record, or a function that is called for each request. */

export type HeaderRecord = Readonly<Record<string, string>>

/** Headers of every request. A function is called each time, so that it can return fresh credentials. */
export type HeaderSource = HeaderRecord | (() => HeaderRecord | Promise<HeaderRecord>)

export async function headersFrom(source: HeaderSource | undefined): Promise<HeaderRecord> {
  return typeof source === 'function' ? source() : (source ?? {})
}
