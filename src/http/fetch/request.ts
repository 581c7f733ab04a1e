/** Adapts a web `Request` to the server's handlers. The body is read only as fast as a handler consumes it. */
import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { HttpRequest, RequestSocket } from '../exchange.ts'

export class FetchRequest extends Readable implements HttpRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly socket: RequestSocket
  readonly isMaybeStripped = true
  /** The request itself, for the host's authentication. */
  readonly web: Request
  complete: boolean
  readonly #body: ReadableStreamDefaultReader<Uint8Array> | undefined

  /** `address`: the client's address, if the host reports it. */
  constructor(request: Request, address: string) {
    super({ highWaterMark: 0 })
    const { scheme, host, target } = split(request.url)
    this.web = request
    this.method = request.method
    this.url = target
    this.headers = { host, ...Object.fromEntries(request.headers) }
    this.socket = {
      remoteAddress: address,
      destroy: () => this.destroy(),
      destroySoon: () => this.destroy(),
      ...(scheme === 'https' && { encrypted: true }),
    }
    this.#body = request.body?.getReader()
    this.complete = this.#body === undefined
  }

  override _read(): void {
    if (this.#body === undefined) return void this.push(null)
    this.#body.read().then(
      ({ done, value }) => {
        if (done) this.complete = true
        this.push(done ? null : value)
      },
      (cause: unknown) => this.destroy(cause instanceof Error ? cause : new Error(String(cause))),
    )
  }

  /** Drops the error: without a listener it would end the process, and `close` reports enough. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.complete) void this.#cancel()
    done(this.listenerCount('error') > 0 ? error : null)
  }

  async #cancel(): Promise<void> {
    try {
      await this.#body?.cancel()
    } catch {
      // The body has failed already.
    }
  }
}

function split(url: string): { readonly scheme: string; readonly host: string; readonly target: string } {
  const [, scheme = 'http', host = '', target = ''] = /^([a-z]+):\/\/([^/?#]*)([^#]*)/i.exec(url) ?? []
  return { scheme, host, target: target.startsWith('/') ? target : `/${target}` }
}
