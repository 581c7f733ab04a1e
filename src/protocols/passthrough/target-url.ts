/** Builds the URL of a passed request: always below the base URL of its upstream, whatever the path contains. */
import { HoldfastError } from '../../core/model/errors.ts'

/** Sequences that a server may interpret as a separator or as `..`, decoded once or twice. */
const TRICKS = /[/\\\p{Cc}]|%2e|%2f|%5c|%00/iu

/** `rest`: the raw path below the base URL. Throws `invalid_request`. */
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
  // Concatenated, not resolved: a path such as `a:b` would resolve to an absolute URL.
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
