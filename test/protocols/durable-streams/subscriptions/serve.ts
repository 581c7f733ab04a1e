/** A server with two principals, and client helpers for subscriptions. */
import { join } from 'node:path'
import { createMemoryStore } from '../../../../src/stores/memory.ts'
import { call, type Answer, type Target } from '../../../support/http.ts'
import { type InProcessOptions, serveInProcess } from '../../../support/in-process.ts'
import { createKeys } from '../../../support/keys.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

export interface Wake {
  readonly wake_id: string
  readonly generation: number
  readonly token: string
  readonly streams: readonly {
    readonly path: string
    readonly acked_offset: string
    readonly tail_offset: string
    readonly has_pending: boolean
  }[]
}

interface Failure {
  readonly error?: { readonly code: string; readonly message: string }
}

export type Answered = Answer<Failure & Readonly<Record<string, unknown>>>

const JSON_TYPE = { 'content-type': 'application/json' }
const ROOT = '/v1/stream/__ds/subscriptions'

/** Requests of one caller. */
export function subscriber(target: Target) {
  const ask = (method: string, path: string, body?: unknown, token = target.token): Promise<Answered> =>
    call({ url: target.url, ...(token !== undefined && { token }) }, method, `${ROOT}/${path}`, {
      ...(body !== undefined && { body }),
    })
  const stream = async (method: string, name: string, messages?: readonly unknown[]): Promise<number> => {
    const credential = target.token === undefined ? {} : { authorization: `Bearer ${target.token}` }
    const body = messages === undefined ? {} : { body: JSON.stringify(messages) }
    const response = await fetch(`${target.url}/v1/stream/${name}`, {
      method,
      headers: { ...JSON_TYPE, ...credential },
      ...body,
    })
    await response.arrayBuffer()
    return response.status
  }
  return {
    ask,
    create: (name: string) => stream('PUT', name),
    append: (name: string, ...messages: unknown[]) => stream('POST', name, messages),
    removeStream: (name: string) => stream('DELETE', name),
    async messages(name: string): Promise<Readonly<Record<string, unknown>>[]> {
      const { body } = await call<Record<string, unknown>[]>(target, 'GET', `/v1/stream/${name}?offset=-1`)
      return body
    },
    put: (id: string, config: object) => ask('PUT', id, config),
    pull: (id: string, config: object = {}) =>
      ask('PUT', id, { type: 'pull-wake', streams: ['news'], wake_stream: 'wakes', ...config }),
    webhook: (id: string, url: string, config: object = {}) =>
      ask('PUT', id, { type: 'webhook', streams: ['news'], webhook: { url }, ...config }),
    get: (id: string) => ask('GET', id),
    remove: (id: string) => ask('DELETE', id),
    claim: async (id: string, worker = 'worker-1') =>
      (await ask('POST', `${id}/claim`, { worker })) as unknown as Answer<Failure & Wake>,
    ack: (id: string, wake: Wake, more: object = {}, token = wake.token) =>
      ask('POST', `${id}/ack`, { wake_id: wake.wake_id, generation: wake.generation, ...more }, token),
    release: (id: string, wake: Wake, token = wake.token) =>
      ask('POST', `${id}/release`, { wake_id: wake.wake_id, generation: wake.generation }, token),
  }
}

/** Principals anna and bert. */
export async function serveTwo(options: InProcessOptions = {}) {
  const keys = join(temporaryFolder(), 'keys.json')
  const [anna = '', bert = ''] = await createKeys(keys, ['anna', 'bert'])
  const server = await serveInProcess({
    ...(options.path === undefined && { store: createMemoryStore() }),
    auth: { keys },
    streamWebhooks: { loopback: true },
    ...options,
  })
  const { url } = server
  return { server, url, anna: subscriber({ url, token: anna }), bert: subscriber({ url, token: bert }) }
}

/** Acknowledges everything that the wake announced. */
export function allOf({ streams }: Wake): object {
  return { acks: streams.map(({ path, tail_offset: offset }) => ({ stream: path, offset })), done: true }
}
