/** Redaction of appends: removed for readers, and in the state that later appends are checked against. */
import { expect, test } from 'vitest'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { redactions } from '../../../src/index.ts'
import { streamKind } from '../../../src/protocols/durable-streams/view/stream-state.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { serveInProcess } from '../../support/in-process.ts'

const SECRET = 'sk-proj-Zq7Xw2Lm9Rt4Kp8Vb1Nc6Hd3'
const redact = { patterns: [redactions.apiKeys, redactions.cardNumbers] }
const TEXT = { 'content-type': 'text/plain' }
const JSON_TYPE = { 'content-type': 'application/json' }

const turn = (id: string, seq: number) => ({ 'producer-id': id, 'producer-epoch': '1', 'producer-seq': String(seq) })

test('[SEC-3] Durable Streams: a secret is in no append, whoever reads it', async () => {
  const { url, service } = await serveInProcess({ redact })
  const stream = `${url}/v1/stream/secrets`
  expect((await fetch(stream, { method: 'PUT', body: `first ${SECRET}`, headers: TEXT })).status).toBe(201)
  await fetch(stream, { method: 'POST', body: ` then ${SECRET}`, headers: TEXT })
  const { runs } = await service.list(localPrincipal, { component: 'durable-stream' })
  const id = runs[0]!.run.id
  for (const path of [`/v1/stream/secrets`, `/v1/stream/${id}`, `/runs/${id}/events?format=json`]) {
    const text = await (await fetch(url + path)).text()
    expect(text).toContain('[redacted:')
    expect(text).not.toContain(SECRET)
  }
})

test('[SEC-3] Durable Streams: a message is JSON after redaction too', async () => {
  const { url } = await serveInProcess({ redact })
  const stream = `${url}/v1/stream/cards`
  await fetch(stream, { method: 'PUT', headers: JSON_TYPE })
  for (const body of ['{"card":4242424242424242}', '{"card":"4242424242424242"}', '{"card":"none"}'])
    expect((await fetch(stream, { method: 'POST', body, headers: JSON_TYPE })).status).toBe(204)
  const messages = (await (await fetch(stream)).json()) as readonly unknown[]
  expect(JSON.stringify(messages)).not.toContain('4242')
  expect(messages.slice(1)).toEqual([{ card: expect.stringContaining('[redacted:') as string }, { card: 'none' }])
})

test('[SEC-3] Durable Streams: a producer whose id would be redacted is refused, not taken for another one', async () => {
  const store = createMemoryStore()
  const { url } = await serveInProcess({ redact, store })
  const stream = `${url}/v1/stream/produced`
  await fetch(stream, { method: 'PUT', headers: TEXT })
  const append = async (server: string, headers: object): Promise<number> => {
    const init = { method: 'POST', body: 'once', headers: { ...TEXT, ...headers } }
    return (await fetch(`${server}/v1/stream/produced`, init)).status
  }
  expect(await append(url, turn(SECRET, 0))).toBe(400)
  expect(await append(url, { 'stream-seq': SECRET })).toBe(400)
  expect(await append(url, turn('clean', 0))).toBe(200)
  const { url: other } = await serveInProcess({ redact, store })
  expect(await append(other, turn('clean', 0))).toBe(204)
  expect(await (await fetch(stream)).text()).toBe('once')
})

test('[SEC-3] client log: appends are decided from the redacted log, not from the original appends', async () => {
  const { url, service } = await serveInProcess({ redact })
  await fetch(`${url}/v1/stream/decided`, { method: 'PUT', headers: TEXT })
  const { runs } = await service.list(localPrincipal, { component: 'durable-stream' })
  const id = runs[0]!.run.id
  const names = {
    ...streamKind,
    name: 'names',
    projection: {
      initial: () => [] as readonly unknown[],
      apply: (state: readonly unknown[], event: { readonly type: string; readonly data: unknown }) => ({
        state: event.type === 'custom.emitted' ? [...state, (event.data as { value: unknown }).value] : state,
        frames: [],
      }),
    },
  }
  const append = () =>
    service.clientLogs.append(localPrincipal, id, names as never, {
      bytes: 1,
      decide: (state: unknown) => ({
        events: [{ type: 'custom.emitted', data: { name: 'x', value: SECRET } }],
        result: state,
      }),
    })
  // Both wait for one claim.
  const [, seen] = await Promise.all([append(), append()])
  expect(seen).toEqual([expect.stringContaining('[redacted:')])
})

test('[LOG-1] client log: an append with an event that cannot be stored is refused as a whole', async () => {
  const { url, service } = await serveInProcess()
  await fetch(`${url}/v1/stream/whole`, { method: 'PUT', headers: TEXT })
  const { runs } = await service.list(localPrincipal, { component: 'durable-stream' })
  const { run, next } = runs[0]!
  const event = (value: unknown) => ({ type: 'custom.emitted' as const, data: { name: 'x', value } })
  const append = (...values: readonly unknown[]) =>
    service.clientLogs.append(localPrincipal, run.id, streamKind, {
      bytes: 1,
      decide: () => ({ events: values.map(event), result: 'appended' }),
    })
  await expect(append('first', () => {})).rejects.toThrow(/function|serial/i)
  expect((await service.get(localPrincipal, run.id)).next).toBe(next)
  expect(await append('second', 'third')).toBe('appended')
  expect((await service.get(localPrincipal, run.id)).next).toBe(next + 2)
})
