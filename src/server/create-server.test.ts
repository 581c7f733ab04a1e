import { createServer as createNetServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openMemoryStore } from '../stores/memory.ts'
import { createServer } from './create-server.ts'

function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
}

test('a server that cannot listen says why, and leaves nothing running', async () => {
  const taken = createNetServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => taken.close(() => resolve())))
  const { port } = taken.address() as AddressInfo
  const before = timers()
  await expect(createServer({ components: [], store: openMemoryStore(), port })).rejects.toThrow(/in use.*\d+/)
  expect(timers()).toBe(before)
})

test('a server that is stopped leaves nothing running, and may be stopped twice', async () => {
  const before = timers()
  const server = await createServer({ components: [], store: openMemoryStore() })
  await Promise.all([server.stop(), server.stop()])
  expect(timers()).toBe(before)
  await expect(fetch(`${server.url}/health`)).rejects.toThrow('fetch failed')
})
