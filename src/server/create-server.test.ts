import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createMemoryStore } from '../stores/memory.ts'
import { createServer, type ServerOptions } from './create-server.ts'
import { temporaryFolder } from '../../test/support/temporary.ts'

function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
}

test('createServer: a server that cannot listen rejects with the reason, and leaves nothing running', async () => {
  const taken = createNetServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => taken.close(() => resolve())))
  const { port } = taken.address() as AddressInfo
  const before = timers()
  await expect(createServer({ components: [], store: createMemoryStore(), port })).rejects.toThrow(/in use.*\d+/)
  expect(timers()).toBeLessThanOrEqual(before) // the test runner's own may end meanwhile
})

test.each([
  [{ authenticator: {} }, 'createServer(): unknown option authenticator: did you mean authenticate?'],
  [{ auth: { key: 'keys.json' } }, 'auth: unknown option key: did you mean keys?'],
])('[SEC-1] createServer: %j is refused, so that a typo does not turn authentication off', async (typo, message) => {
  const options = { components: [], store: createMemoryStore(), ...typo } as ServerOptions
  await expect(createServer(options).then((server) => server.close())).rejects.toThrow(message)
})

test('createServer: a closed server leaves nothing running, and may be closed twice', async () => {
  const before = timers()
  const server = await createServer({ components: [], store: createMemoryStore() })
  await Promise.all([server.close(), server.close()])
  expect(timers()).toBe(before)
  await expect(fetch(`${server.url}/health`)).rejects.toThrow('fetch failed')
})

test('createServer: close does not wait for idle connections, and sends pending responses', async () => {
  const server = await createServer({ components: [], store: createMemoryStore() })
  const [asking, unused] = [await connected(server.url), await connected(server.url)]
  const head = 'host: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\nexpect: 100-continue'
  asking.write(`POST /runs HTTP/1.1\r\n${head}\r\n\r\n`)
  expect(String(await once(asking, 'data'))).toContain('100 Continue')
  const closed = server.close()
  await once(unused, 'close')
  asking.write('{}')
  expect(String(await once(asking, 'data'))).toMatch(/^HTTP\/1\.1 [45]\d\d /)
  await closed
})

async function connected(url: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) })
  onTestFinished(() => void socket.destroy())
  socket.resume()
  await once(socket, 'connect')
  return socket
}

test('createServer: the store may be an address, and a wrong one is refused with its forms', async () => {
  const server = await createServer({ components: [], store: 'memory:' })
  onTestFinished(() => server.close())
  expect((await fetch(`${server.url}/health`)).status).toBe(200)
  await expect(createServer({ components: [], store: 'mysql://db' })).rejects.toThrow(
    'unsupported in this version: use sqlite',
  )
})

test('createServer: without a store it opens the same SQLite file as holdfast() and the command line, below its working directory', () => {
  const folder = temporaryFolder()
  const source = new URL('create-server.ts', import.meta.url).href
  const program = `import { createServer } from '${source}'\nawait (await createServer({ components: [] })).close()`
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(existsSync(join(folder, '.holdfast/holdfast.db'))).toBe(true)
})
