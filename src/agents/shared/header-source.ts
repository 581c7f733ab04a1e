/** Headers of requests to an upstream. A function is called for each request, so that it can return fresh credentials. */
export type Headers = Readonly<Record<string, string>>
export type HeaderSource = Headers | (() => Headers | Promise<Headers>)

export async function headersFrom(source: HeaderSource | undefined): Promise<Headers> {
  return typeof source === 'function' ? source() : (source ?? {})
}
