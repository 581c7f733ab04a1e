/** docs/mount.md: nginx in front, with a prefix that it removes or keeps. */
import { expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { canInstallPackages } from '../support/apt.ts'
import { blocksOf } from '../support/doc-programs.ts'
import { serveInProcess } from '../support/in-process.ts'
import { startNginx } from '../support/nginx.ts'

const [location = ''] = blocksOf('docs/mount.md', 'nginx')
const PASS = 'proxy_pass http://127.0.0.1:7777/;'

test.skipIf(!canInstallPackages() && process.env['CI'] !== 'true').each([
  { title: 'removes the prefix and names it', options: { trustProxy: ['loopback'] }, slash: '/' },
  { title: 'keeps the path', options: { trustProxy: ['loopback'], basePath: '/api/agents' }, slash: '' },
])('docs/mount.md: links and streams work behind an nginx that $title', async ({ options, slash }) => {
  const server = await serveInProcess(options)
  expect(location).toContain(PASS)
  const upstream = `proxy_pass ${new URL(server.url).origin}${slash};`
  const prefix = slash === '' ? location.replace(/^.*X-Forwarded-Prefix.*\n/m, '') : location
  const url = `${await startNginx(prefix.replace(PASS, upstream))}/api/agents`
  const started = await fetch(`${url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ component: 'lab', input: 'text 3' }),
  })
  const { id } = (await started.json()) as { id: string }
  expect(started.headers.get('location')).toBe(`/api/agents/runs/${id}`)
  const card = (await (
    await fetch(`${url}/a2a/lab/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })
  ).json()) as { supportedInterfaces: { url: string }[] }
  expect(card.supportedInterfaces[0]!.url).toBe(`${url}/a2a/lab`)
  const types = []
  for await (const event of createClient({ url }).runs.open(id).events()) types.push(event.type)
  expect(types.at(-1)).toBe('run.completed')
  const page = await (await fetch(`${url}/console`)).text()
  const [, script] = /src="([^"]+)"/.exec(page)!
  expect((await fetch(new URL(script!, url))).status).toBe(200)
})
