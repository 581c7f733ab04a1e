/**
 * One request and its response, as far as the server uses them. Node's own classes implement these interfaces without a wrapper;
 * `fetch/` implements them for a web `Request`.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'

/** The connection that a request came on. */
export interface RequestSocket {
  readonly remoteAddress?: string | undefined
  readonly localAddress?: string | undefined
  /** Present on TLS connections. */
  readonly encrypted?: unknown
  destroy(): unknown
  destroySoon(): void
}

export interface HttpRequest extends Readable {
  readonly method?: string | undefined
  /** Path and query, or an absolute URL. */
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  /** The whole body has arrived. */
  readonly complete: boolean
  readonly socket: RequestSocket
}

export interface HttpResponse {
  readonly req: { readonly method?: string | undefined }
  /** Node's socket if chunks may be written to it directly. */
  readonly socket: Socket | null
  readonly chunkedEncoding: boolean
  /** Whether the connection stays open after the response. */
  readonly shouldKeepAlive: boolean
  readonly headersSent: boolean
  readonly destroyed: boolean
  readonly writableEnded: boolean
  readonly writableFinished: boolean
  readonly writableNeedDrain: boolean
  /** Bytes that the client has not read yet. */
  readonly writableLength: number
  setHeader(name: string, value: number | string | readonly string[]): unknown
  writeHead(status: number, headers?: OutgoingHttpHeaders): this
  /**
   * Returns false if the caller should wait for `drain`. Node's own responses call `onWritten` when they no longer need the chunk;
   * others may never call it.
   */
  write(chunk: string | Uint8Array, onWritten?: (error?: Error | null) => void): boolean
  end(chunk?: string | Uint8Array): unknown
  destroy(): unknown
  /** Calls back after this time without progress of the connection. */
  setTimeout(ms: number, callback: () => void): unknown
  on(event: 'close' | 'drain' | 'error', listener: () => void): unknown
  once(event: 'close', listener: () => void): unknown
}
