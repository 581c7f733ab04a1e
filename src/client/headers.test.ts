/** `headers` of a client: sent with every request to its server, and to no other server. */
import { expect, test } from 'vitest'
import { createClient } from './client.ts'

/** Remembers the headers of requests, by origin. */
function recordingFetch(): {
  fetch: typeof fetch
  seen: (readonly [origin: string, headers: Record<string, string>])[]
} {
  const seen: (readonly [string, Record<string, string>])[] = []
  return {
    seen,
    fetch: async (input, init) => {
      seen.push([new URL(input as string).origin, init!.headers as Record<string, string>])
      return Response.json({ components: [], id: 'run_1', status: 'completed', events: 1 })
    },
  }
}

const url = 'https://agents.example'

test('client: headers are sent with every request, beside the key', async () => {
  const { fetch, seen } = recordingFetch()
  await createClient({ url, fetch, key: 'k', headers: { 'x-tenant': 'acme' } }).components.list()
  expect(seen).toEqual([[url, { 'x-tenant': 'acme', authorization: 'Bearer k' }]])
})

test('client: a function is called for the headers of each request', async () => {
  const { fetch, seen } = recordingFetch()
  let calls = 0
  const client = createClient({ url, fetch, headers: async () => ({ 'x-call': String(++calls) }) })
  await client.components.list()
  await client.components.list()
  expect(seen.map(([, headers]) => headers['x-call'])).toEqual(['1', '2'])
})

test('client: a share link of another origin gets no headers', async () => {
  const { fetch, seen } = recordingFetch()
  const { runs } = createClient({ url, fetch, headers: { 'x-tenant': 'acme' } })
  await runs.open('https://other.example/runs/run_1/events?share=secret').get()
  await runs.open(`${url}/runs/run_1/events?share=secret`).get()
  expect(seen.map(([origin, headers]) => [origin, headers['x-tenant']])).toEqual([
    ['https://other.example', undefined],
    [url, 'acme'],
  ])
})
