/** The request object for the host application's authentication: the same for a web `Request` and for Node's. */
import type { IncomingMessage } from 'node:http'
import type { HostRequest } from '../../core/model/principal.ts'
import type { HttpRequest } from '../exchange.ts'

export function hostRequestOf(request: HttpRequest | IncomingMessage): HostRequest {
  return 'web' in request ? fromWeb(request.web as Request) : new NodeHostRequest(request)
}

function fromWeb(web: Request): HostRequest {
  return { method: web.method, url: web.url, headers: web.headers, raw: web }
}

class NodeHostRequest implements HostRequest {
  readonly raw: HttpRequest | IncomingMessage
  #headers: Headers | undefined

  constructor(raw: HttpRequest | IncomingMessage) {
    this.raw = raw
  }

  get method(): string {
    return this.raw.method ?? 'GET'
  }

  get url(): string {
    const { originalUrl } = this.raw as { readonly originalUrl?: unknown }
    const scheme = this.raw.socket !== null && 'encrypted' in this.raw.socket ? 'https' : 'http'
    const path = typeof originalUrl === 'string' ? originalUrl : (this.raw.url ?? '/')
    return URL.parse(path, `${scheme}://${this.raw.headers.host ?? 'localhost'}`)?.href ?? path
  }

  get headers(): Headers {
    return (this.#headers ??= headersOf(this.raw))
  }
}

/** Skips headers that a `Headers` object does not accept. */
function headersOf({ headers }: HttpRequest | IncomingMessage): Headers {
  const accepted = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    for (const each of [value ?? []].flat()) {
      try {
        accepted.append(name, each)
      } catch {
        // Node accepts bytes that are not valid characters.
      }
    }
  }
  return accepted
}
