/** Share links: access to one run, for the listed actions, until the link expires or is revoked. */
import { spawn } from 'node:child_process'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient, type ShareLink } from '../../src/client/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import type { AuditEntry } from '../../src/core/access/audit.ts'
import { SHARES } from '../../src/core/access/share-links.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { configOptions } from '../../src/server/config/config-options.ts'
import { openStore } from '../../src/server/store/open-store.ts'
import { serveNative, type NativeOptions, type NativeServer } from '../protocols/native/serve.ts'
import { startNats, urlOf } from '../support/nats.ts'
import { startPostgres } from '../support/postgres.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'

const KEY = 'a-key-that-is-long-enough'

async function serve(options: NativeOptions = {}): Promise<NativeServer> {
  return serveNative({ auth: { securityKey: KEY }, ...options })
}

/** A plain EventSource that prints its events. */
const LISTEN = `
  const source = new EventSource(process.argv[1])
  source.addEventListener('text.delta', ({ type }) => console.log(type))
  source.addEventListener('stream.failed', ({ data }) => console.log(data))
`

const clientOf = ({ url }: { readonly url: string }) => createClient({ url, key: KEY, retries: 1 })
const nobody = (url: string) => createClient({ url, retries: 1, retryDelayMs: 10 })
const tokenOf = ({ url }: ShareLink): string => new URL(url).searchParams.get('share')!

test('share link: its holder’s client reads the run, and only that run', async () => {
  const server = await serve()
  const client = clientOf(server)
  const run = await client.runs.start({ component: 'lab', input: 'say kelp' })
  const other = await client.runs.start({ component: 'lab', input: 'say other' })
  const link = await run.share({ can: ['read'], expiresInMs: 60_000 })
  const opened = nobody('http://127.0.0.1:1').runs.open(link.url)
  const types: string[] = []
  for await (const { type } of opened.events()) types.push(type)
  expect(types.at(-1)).toBe('run.completed')
  expect(await opened.get()).toMatchObject({ id: run.id, shared: { can: ['read'], expiresAt: link.expiresAt } })
  const wrongRun = link.url.replaceAll(`/runs/${run.id}/`, `/runs/${other.id}/`)
  await expect(nobody(server.url).runs.open(wrongRun).get()).rejects.toMatchObject({ code: 'not_found' })
  await expect(opened.stop()).rejects.toMatchObject({ code: 'forbidden' })
  await expect(opened.delete()).rejects.toMatchObject({ code: 'unauthenticated' })
  await expect(opened.share()).rejects.toMatchObject({ code: 'unauthenticated' })
  await expect(opened.shares()).rejects.toMatchObject({ code: 'unauthenticated' })
})

test('share link: the log records by which link a run was answered and stopped', async () => {
  const entries: AuditEntry[] = []
  const server = await serve({ audit: (entry) => void entries.push(entry) })
  const run = await clientOf(server).runs.start({ component: 'lab', input: 'ask Go on?; sleep 60000' })
  const link = await run.share({ can: ['read', 'answer', 'stop'] })
  const opened = nobody(server.url).runs.open(link.url)
  await until('it asks', async () => (await opened.get()).status === 'paused')
  await opened.answer({ answer: 'yes' })
  await opened.stop({ waitMs: 10_000 })
  const events = []
  for await (const event of run.events()) events.push(event)
  const by = `share:${link.id}`
  expect(events.find(({ type }) => type === 'run.resumed')?.data).toMatchObject({ by })
  expect(events.at(-1)).toMatchObject({ type: 'run.cancelled', data: { by } })
  expect(entries.find(({ action }) => action === 'answer')).toMatchObject({ credential: by, run: run.id, result: 'ok' })
  expect(JSON.stringify(entries)).not.toContain(tokenOf(link))
})

test('share link: an EventSource can use it, and a revocation ends the stream with a notice', async () => {
  const server = await serve()
  const run = await clientOf(server).runs.start({ component: 'lab', input: 'say kelp; sleep 60000' })
  const link = await run.share()
  const source = spawn(process.execPath, ['--experimental-eventsource', '--no-warnings', '--eval', LISTEN, link.url])
  onTestFinished(() => void source.kill())
  let seen = ''
  source.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()))
  await until('text comes', () => seen.includes('text.delta'))
  const response = await fetch(link.url, { headers: { accept: 'text/event-stream' } })
  expect(response.headers.get('referrer-policy')).toBe('no-referrer')
  await run.revokeShare(link.id)
  expect(await response.text()).toMatch(/revoked/)
  expect(await run.shares()).toEqual([])
  expect((await fetch(link.url)).status).toBe(401)
  await until('the EventSource is told', () => seen.includes('the credential was revoked'))
  await expect(run.revokeShare(link.id)).rejects.toMatchObject({ code: 'not_found' })
  await run.stop()
})

test('share link: an expired link is rejected, and its open streams end', async () => {
  const clock = createFakeClock()
  const server = await serve({ clock })
  const run = await clientOf(server).runs.start({ component: 'lab', input: 'say kelp; ask Go?' })
  const link = await run.share({ expiresInMs: 60_000 })
  const response = await fetch(link.url, { headers: { accept: 'text/event-stream' } })
  clock.advance(61_000)
  expect(await response.text()).toMatch(/expired/)
  expect((await fetch(link.url)).status).toBe(401)
  expect(await run.shares()).toEqual([])
})

test('share link: it survives a restart, and a modified token is rejected', async () => {
  const path = temporaryDatabase()
  const first = await serve({ store: await openSqliteStore({ path }) })
  const run = await clientOf(first).runs.start({ component: 'lab', input: 'say kelp' })
  await run.result()
  const link = await run.share()
  await first.close()
  const second = await serve({ store: await openSqliteStore({ path }) })
  const moved = link.url.replace(first.url, second.url)
  expect(await nobody(second.url).runs.open(moved).get()).toMatchObject({ id: run.id, status: 'completed' })
  const token = tokenOf(link)
  const last = token.at(-2) === 'A' ? 'B' : 'A'
  const forged = [
    `${token.slice(0, -2)}${last}${token.at(-1)}`,
    token.replace(link.id, link.id.replaceAll(/\w/g, '0')),
    'hfs_',
    `hfs_${run.id}.${link.id}.`,
  ]
  for (const wrong of forged) expect((await fetch(`${second.url}/runs/${run.id}?share=${wrong}`)).status).toBe(401)
  await clientOf(second).runs.delete(run.id)
  expect((await fetch(moved)).status).toBe(401)
  expect((await second.store.documents.list({ collection: SHARES, limit: 10 })).documents).toEqual([])
})

test('share link: a browser is redirected to the page of the run, with the token behind the #', async () => {
  const server = await serve()
  const run = await clientOf(server).runs.start({ component: 'lab', input: 'say kelp' })
  const link = await run.share()
  const headers = { accept: 'text/html,application/xhtml+xml' }
  const response = await fetch(link.url, { headers, redirect: 'manual' })
  expect(response.status).toBe(303)
  const page = new URL(response.headers.get('location')!, link.url)
  expect(page.href).toBe(`${server.url}/console/runs/${run.id}#share=${tokenOf(link)}`)
})

test('share link: invalid requests are rejected, and the number of links per run is bounded', async () => {
  const server = await serve({ limits: { maxSharesPerRun: 2 } })
  const run = await clientOf(server).runs.start({ component: 'lab', input: 'say kelp' })
  for (const body of [{ can: ['stop'] }, { can: [] }, { can: ['delete'] }, { expiresInMs: 1e12 }, { expiresInMs: 0 }]) {
    const response = await fetch(`${server.url}/runs/${run.id}/shares`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(response.status).toBe(400)
  }
  await run.share()
  await run.share()
  await expect(run.share()).rejects.toMatchObject({ code: 'quota_exceeded' })
})

test('share link: the number of links per principal is bounded', async () => {
  const server = await serve({ limits: { maxSharesPerPrincipal: 2 } })
  const runs = await Promise.all([1, 2, 3].map(() => clientOf(server).runs.start({ component: 'lab', input: 'say a' })))
  await runs[0]!.share()
  await runs[1]!.share()
  await expect(runs[2]!.share()).rejects.toMatchObject({ code: 'quota_exceeded' })
})

test('share link: expired links do not count', async () => {
  const clock = createFakeClock()
  const server = await serve({ clock, limits: { maxSharesPerRun: 1 } })
  const run = await clientOf(server).runs.start({ component: 'lab', input: 'say kelp' })
  await run.share({ expiresInMs: 60_000 })
  await expect(run.share()).rejects.toMatchObject({ code: 'quota_exceeded' })
  clock.advance(61_000)
  await run.share()
})

const postgres = await startPostgres()
const nats = await startNats()
const open = (address: string): Promise<Store> => openStore(configOptions.store.parse(address))

describe.each([
  ['PostgreSQL', `${postgres.url}?schema=share_links`],
  ['NATS', urlOf([nats])],
])('%s: share links on nodes of one store', (_name, address) => {
  const serveNode = async (): Promise<NativeServer> => serve({ store: await open(address) })

  test('a link created on one node reads, answers and stops its run on another, and no other run', async () => {
    const [first, second] = [await serveNode(), await serveNode()]
    const client = clientOf(first)
    const run = await client.runs.start({ component: 'lab', input: 'say kelp; ask Go on?; sleep 600000' })
    const other = await client.runs.start({ component: 'lab', input: 'say other' })
    const reading = await run.share({ can: ['read'] })
    const acting = await run.share({ can: ['read', 'answer', 'stop'] })
    const at = ({ url }: ShareLink, id = run.id) =>
      nobody(second.url).runs.open(url.replace(first.url, second.url).replace(`/runs/${run.id}/`, `/runs/${id}/`))
    await until('it asks', async () => (await at(reading).get()).status === 'paused')
    await expect(at(reading).answer({ answer: 'yes' })).rejects.toMatchObject({ code: 'forbidden' })
    await expect(at(reading).stop()).rejects.toMatchObject({ code: 'forbidden' })
    await expect(at(acting, other.id).get()).rejects.toMatchObject({ code: 'not_found' })
    await at(acting).answer({ answer: 'yes' })
    await at(acting).stop({ waitMs: 20_000 })
    const events = []
    for await (const event of at(reading).events()) events.push(event)
    const by = `share:${acting.id}`
    expect(events.find(({ type }) => type === 'run.resumed')?.data).toMatchObject({ by })
    expect(events.at(-1)).toMatchObject({ type: 'run.cancelled', data: { by } })
    const forged = tokenOf(reading).replace(reading.id, acting.id)
    expect((await fetch(`${second.url}/runs/${run.id}?share=${forged}`)).status).toBe(401)
  })

  test('a link revoked on one node ends on another, with a notice', async () => {
    const [first, second] = [await serveNode(), await serveNode()]
    const run = await clientOf(first).runs.start({ component: 'lab', input: 'say kelp; sleep 600000' })
    const link = await run.share()
    const moved = link.url.replace(first.url, second.url)
    const response = await fetch(moved, { headers: { accept: 'text/event-stream' } })
    expect(response.status).toBe(200)
    await run.revokeShare(link.id)
    expect(await response.text()).toMatch(/revoked/)
    expect((await fetch(moved)).status).toBe(401)
    await run.stop()
  })
})
