/** The address of a passed request: always below the base URL of its upstream, whatever the path says. */
import { HoldfastError } from '../../core/model/errors.ts'

/** What a server may take for a separator or a way up, once or twice decoded. */
const TRICKS = /[/\\\p{Cc}]|%2e|%2f|%5c|%00/iu

/** `rest`: the path below the base URL, as it came. Throws `invalid_request`. */
export function targetUrl(base: string, rest: string, query: URLSearchParams): URL {
  for (const segment of rest.replace(/\/$/, '').split('/')) {
    const decoded = decode(segment)
    if (decoded === undefined || decoded === '' || decoded === '.' || decoded === '..' || TRICKS.test(decoded))
      throw new HoldfastError(
        'invalid_request',
        `the path ${JSON.stringify(rest.slice(0, 200))} cannot be passed through`,
      )
  }
  const below = new URL(`${base.replace(/\/+$/, '')}/`)
  // Not resolved against it: a path such as `a:b` would be an address of its own.
  const url = new URL(below.href + rest)
  url.search = query.toString()
  if (url.origin === below.origin && url.pathname.startsWith(below.pathname)) return url
  throw new HoldfastError('invalid_request', `the path ${JSON.stringify(rest.slice(0, 200))} leads out of the upstream`)
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
