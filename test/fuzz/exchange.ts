/** Sends one request and returns its result: a whole response, or the start of a stream. */
import { request } from 'node:http'
import { withTimeout } from './timeout.ts'
import type { SentRequest } from './request.ts'

/** No request takes as long, even on a busy machine. */
const ANSWER_MS_MAX = 30_000

export interface Exchanged {
  readonly status: number
  readonly contentType: string
  readonly text: string
  readonly isStream: boolean
}

/** Throws a `Hang` if there is no response. A connection that the server closes without one has status 0. */
export function exchange(url: string, sent: SentRequest): Promise<Exchanged> {
  const { promise, resolve } = Promise.withResolvers<Exchanged>()
  const { host: _host, ...headers } = sent.headers
  const bytes = sent.body === undefined ? undefined : Buffer.from(sent.body)
  const client = request(url + sent.path, {
    method: sent.method,
    headers: {
      ...headers,
      ...(sent.headers['host'] && { host: sent.headers['host'] }),
      ...(bytes && { 'content-length': bytes.length }),
    },
  })
  const unanswered = { status: 0, contentType: '', text: '', isStream: false }
  client.on('response', (response) => {
    const { statusCode: status = 0 } = response
    const contentType = response.headers['content-type'] ?? ''
    const isStream = /event-stream|x-ndjson/.test(contentType)
    let text = ''
    const finish = (): void => resolve({ status, contentType, text, isStream })
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      text += chunk
      // The first bytes of a stream are enough: it may never end.
      if (isStream) client.destroy()
    })
    response.on('end', finish).on('close', finish).on('error', finish)
  })
  client.on('error', () => resolve(unanswered))
  client.end(bytes)
  return withTimeout(promise, ANSWER_MS_MAX, `no answer to ${sent.method} ${sent.path.slice(0, 200)}`).finally(() =>
    client.destroy(),
  )
}
