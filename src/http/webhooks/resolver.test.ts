import { createHook } from 'node:async_hooks'
import { createSocket } from 'node:dgram'
import { lookup as systemLookup } from 'node:dns/promises'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { createLookup } from './resolver.ts'
import { post } from './post.ts'
import { until } from '../../../test/support/until.ts'

/** A DNS server that accepts queries and never responds. */
async function silentServer(): Promise<{ readonly address: string; readonly questions: () => number }> {
  const socket = createSocket('udp4')
  let questions = 0
  socket.on('message', () => questions++)
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  onTestFinished(() => void socket.close())
  return { address: `127.0.0.1:${socket.address().port}`, questions: () => questions }
}

test('webhooks: names in a DNS that never responds do not delay other lookups of the process', async () => {
  const server = await silentServer()
  const lookup = createLookup([server.address])
  const leaving = new AbortController()
  let settled = 0
  const asked = Array.from({ length: 40 }, (_, count) =>
    lookup(`dead-${count}.example`, leaving.signal).catch(() => settled++),
  )
  // Through the system's resolver, as every request of an agent to its model goes.
  expect(await systemLookup('localhost')).toMatchObject({ family: expect.any(Number) as number })
  expect(settled).toBe(0)
  await until('the DNS is asked', () => server.questions() > 0)
  leaving.abort()
  await Promise.all(asked)
})

test('webhooks: webhooks use this resolver, and take no thread of the system resolver', async () => {
  const kinds: string[] = []
  const hook = createHook({ init: (_id, kind) => void kinds.push(kind) }).enable()
  onTestFinished(() => void hook.disable())
  const leaving = new AbortController()
  const options = { loopback: false, timeoutMs: 60_000, signal: leaving.signal }
  const posts = Array.from({ length: 40 }, (_, count) =>
    post({ url: `https://dead-${count}.invalid/`, headers: {}, body: '{}' }, options).catch(() => {}),
  )
  leaving.abort()
  await Promise.all(posts)
  expect(kinds.filter((kind) => kind === 'QUERYWRAP')).toHaveLength(80) // of IPv4 and IPv6
  expect(kinds).not.toContain('GETADDRINFOREQWRAP')
})

test('webhooks: a lookup sends one query and times out when the DNS never responds', async () => {
  const server = await silentServer()
  await expect(createLookup([server.address])('dead.example', new AbortController().signal)).rejects.toMatchObject({
    code: expect.stringMatching(/ETIMEOUT|ECONNREFUSED|ESERVFAIL|ENODATA/) as string,
  })
  expect(server.questions()).toBe(2) // for IPv4 and IPv6, without a second try
})

test('webhooks: a cancelled lookup ends at once, before an earlier one that times out', async () => {
  const server = await silentServer()
  const lookup = createLookup([server.address])
  const leaving = new AbortController()
  const ended: string[] = []
  const asked = [
    lookup('waits.example', new AbortController().signal).catch(() => ended.push('timed out')),
    lookup('leaves.example', leaving.signal).catch(() => ended.push('cancelled')),
  ]
  leaving.abort()
  await Promise.all(asked)
  expect(ended).toEqual(['cancelled', 'timed out'])
})

test.each(['localhost', 'LOCALHOST.', 'a.localhost'])('webhooks: %s is this machine', async (name) => {
  expect(await createLookup([])(name, new AbortController().signal)).toEqual([{ address: '127.0.0.1', family: 4 }])
})
