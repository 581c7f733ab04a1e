/** The root path of a server, and of an application that mounts one. */
import express from 'express'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { holdfast } from '../../src/mount/holdfast.ts'
import { serveNative } from '../protocols/native/serve.ts'

const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

describe('the root of a server', () => {
  test('redirects a browser to the console, and lists the protocols for other clients', async () => {
    const { url } = await serveNative({ basePath: '/agents', protocols: ['native', 'openai', 'console'] })
    const redirected = await fetch(`${url}/`, { headers: browser, redirect: 'manual' })
    expect([redirected.status, redirected.headers.get('location')]).toEqual([302, '/agents/console'])
    for (const accept of ['*/*', 'application/json']) {
      const response = await fetch(`${url}/`, { headers: { accept }, redirect: 'manual' })
      expect([response.status, await response.json()]).toEqual([
        200,
        {
          name: 'Holdfast',
          id: 'holdfast',
          version: expect.any(String) as unknown,
          protocols: { native: '/agents', openai: '/agents/v1', console: '/agents/console' },
        },
      ])
    }
  })

  test('answers a browser with JSON where there is no console', async () => {
    const { url } = await serveNative({ protocols: ['openai'] })
    const response = await fetch(`${url}/`, { headers: browser, redirect: 'manual' })
    expect([response.status, await response.json()]).toMatchObject([200, { protocols: { openai: '/v1' } }])
  })
})

test('an application keeps its root, for GET and POST, when a server without a base path is mounted in it', async () => {
  const hf = holdfast({ components: [], store: 'memory:' })
  onTestFinished(() => hf.close())
  const app = express()
  app.use(hf.node)
  app.all('/', (request, response) => void response.send(`the page of the application, by ${request.method}`))
  const server = app.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const _ of ['before the store is open', 'after']) {
    for (const method of ['GET', 'POST'])
      expect(await (await fetch(`${url}/`, { method })).text()).toBe(`the page of the application, by ${method}`)
    expect((await fetch(`${url}/health`)).status).toBe(200)
  }
})
