/** Sends one notification of a webhook to a checked address, without following redirects, with a timeout. */
import * as http from 'node:http'
import * as https from 'node:https'
import { type Lookup, type PinnedAddress, pin } from './addresses.ts'
import { createLookup } from './resolver.ts'

export interface Notification {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface WebhookOptions {
  readonly loopback: boolean
  /** Default: the system's DNS servers. */
  readonly lookup?: Lookup | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** The receiver sent a redirect, whose target is unchecked. Not retryable. */
export class RedirectRefused extends Error {}

const systemLookup = createLookup()

/** Maximum bytes read of a response. */
const RESPONSE_BYTES_MAX = 64 * 1024

interface Answer {
  readonly status: number
  /** Empty if it is longer than the limit or was cut off. */
  readonly text: string
}

/** Resolves with the receiver's response when it has accepted the notification. */
export async function post(notification: Notification, options: WebhookOptions): Promise<string> {
  const { loopback, lookup = systemLookup, timeoutMs, signal } = options
  const url = new URL(notification.url)
  const ended = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  const { status, text } = await within(ended, async () => {
    const pinned = await pin(url.hostname, loopback, lookup, ended)
    return request(url, notification, pinned, ended)
  })
  if (status >= 200 && status < 300) return text
  if (status >= 300 && status < 400)
    throw new RedirectRefused(`${url.host} responded with a redirect (${status}); redirects are not followed`)
  throw new Error(`${url.host} responded with status ${status}`)
}

/** Abandons work that ignores the signal. */
function within<Result>(ended: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  const aborted = new Promise<never>((_resolve, reject) => {
    ended.addEventListener('abort', () => reject(ended.reason as Error), { once: true })
  })
  return Promise.race([work(), aborted])
}

function request(
  url: URL,
  { headers, body }: Notification,
  pinned: PinnedAddress,
  signal: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { request: begin } = url.protocol === 'https:' ? https : http
    const sent = begin(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      agent: false,
      lookup: (_name, options, found) =>
        options.all === true ? found(null, [pinned]) : found(null, pinned.address, pinned.family),
      signal,
    })
    sent.once('error', reject)
    sent.once('response', (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > RESPONSE_BYTES_MAX) return void response.destroy()
        chunks.push(chunk)
      })
      // Errors in the body do not matter: the status has arrived.
      response.once('error', () => {})
      response.once('close', () =>
        resolve({
          status: response.statusCode ?? 0,
          text: response.complete ? Buffer.concat(chunks).toString() : '',
        }),
      )
    })
    sent.end(body)
  })
}
