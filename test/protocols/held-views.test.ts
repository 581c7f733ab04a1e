/** View states held by open streams are bounded per node: the principal with the most loses a stream. */
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { ViewCache } from '../../src/core/delivery/view-cache.ts'
import { defaultLimits } from '../../src/core/model/limits.ts'
import { keyPrincipalId, ownerKey } from '../../src/core/model/principal.ts'
import { systemClock } from '../../src/core/ports/clock.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'
import { EventStream } from '../support/event-stream.ts'
import { freePort } from '../support/free-port.ts'
import { createKeys } from '../support/keys.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { testedViews } from '../views/kinds.ts'
import { Peer } from './a2a/peer.ts'
import { linkTo } from './every-protocol.ts'
import { serveNative } from './native/serve.ts'

const EVENTS = 300

/** An unfinished run with a log of some length. */
async function addRun(store: Store, id: string, name: string): Promise<RunWriter> {
  const owner = ownerKey({ id: keyPrincipalId(name) })
  const claim = { worker: 'runWriter', ttlMs: 600_000 }
  const made = newRun(id, new Date().toISOString(), { session: id, component: 'lab', owner, claim })
  const { stored } = await store.create(made)
  const writer = new RunWriter(store, systemClock, stored, [])
  writer.start()
  for (let count = 0; count < EVENTS; count++) writer.text('once ')
  await writer.flush()
  return writer
}

async function heldBytesOf(store: Store, id: string): Promise<number> {
  const stored = (await store.get(id))!
  const view = new ViewCache(store, defaultLimits).open(stored, testedViews[0]!.kind)
  return (await view.current(stored.next)).bytes
}

describe.each(['agentos', 'openai', 'a2a', 'ai-sdk', 'ag-ui', 'mcp'])('[SEC-2] %s', (protocol) => {
  test('streams that hold too much of long runs end with the principal that holds most', async () => {
    const keys = join(temporaryFolder(), 'keys.json')
    const [anna = '', bert = ''] = await createKeys(keys, ['anna', 'bert'])
    const store = createMemoryStore()
    for (const id of ['run_a1', 'run_a2', 'run_a3']) await addRun(store, id, 'anna')
    const writer = await addRun(store, 'run_b1', 'bert')
    const limits = { maxActiveViewBytes: 3.5 * (await heldBytesOf(store, 'run_b1')) }
    const { url } = await serveNative({ store, auth: { keys }, limits })
    const follow = async (token: string, id: string): Promise<EventStream> => {
      const { resume } = await linkTo({ url, token }, id, protocol)
      const headers = { ...resume.headers, authorization: `Bearer ${token}` }
      const stream = new EventStream(new URL(resume.url, url).href, { headers })
      onTestFinished(() => stream.cut())
      void stream.ended.then(() => ended.add(stream))
      return stream
    }
    const ended = new Set<EventStream>()
    const [berts, ...annas] = [
      await follow(bert, 'run_b1'),
      await follow(anna, 'run_a1'),
      await follow(anna, 'run_a2'),
      await follow(anna, 'run_a3'),
    ]
    await until('a stream ended', () => ended.size > 0)
    expect(annas.filter((stream) => ended.has(stream))).toHaveLength(1)
    expect(ended.size).toBe(1)
    writer.complete()
    await writer.flush()
    expect(await berts.ended).toBe('closed')
  })
})

const TOO_MUCH = /too many streams of long runs/

interface Caller {
  readonly url: string
  readonly grpc: string
  readonly key: string
}

function openSocket({ url, key }: Caller, path: string, isReady: RegExp | undefined): Promise<Opened> {
  const socket = new WebSocket(url.replace('http', 'ws') + path, { headers: { authorization: `Bearer ${key}` } })
  onTestFinished(() => socket.terminate())
  const seen: string[] = []
  const { promise, resolve } = Promise.withResolvers<Opened>()
  const opened = { seen, send: (message: object) => socket.send(JSON.stringify(message)) }
  socket.on('message', (data: Buffer) => {
    seen.push(data.toString())
    if (isReady?.test(data.toString()) === true) resolve(opened)
  })
  socket.on('open', () => {
    if (isReady === undefined) resolve(opened)
    else opened.send({ action: 'authenticate', token: key })
  })
  return promise
}

interface Opened {
  readonly seen: readonly string[]
  readonly send: (message: object) => void
}

/** Each follows the runs, and returns what it received. */
const sockets: Readonly<Record<string, (caller: Caller, runs: readonly string[]) => Promise<() => readonly string[]>>> =
  {
    'AgentOS WebSocket': async (caller, runs) => {
      const { seen, send } = await openSocket(caller, '/agents/ws', /"authenticated"/)
      for (const run of runs) send({ action: 'reconnect', run_id: run, last_event_index: 0 })
      return () => seen
    },
    'AI SDK WebSocket': async (caller, runs) => {
      const { seen, send } = await openSocket(caller, '/ai/lab/chat', undefined)
      for (const run of runs) send({ type: 'resume', requestId: run, id: run, headers: {}, body: {} })
      return () => seen
    },
    'A2A gRPC': async ({ grpc, key }, runs) => {
      const seen: string[] = []
      const peer = new Peer(grpc)
      for (const id of runs)
        void (async () => {
          try {
            for await (const _ of peer.stream('SubscribeToTask', { id }, { authorization: `Bearer ${key}` }));
          } catch (cause) {
            seen.push(String(cause))
          }
        })()
      return () => seen
    },
  }

test.each(Object.entries(sockets))(
  '[SEC-2] %s: the memory that streams of long runs use is bounded',
  async (_name, follow) => {
    const keys = join(temporaryFolder(), 'keys.json')
    const [key = ''] = await createKeys(keys, ['anna'])
    const store = createMemoryStore()
    const runs = ['run_a1', 'run_a2', 'run_a3', 'run_a4']
    for (const id of runs) await addRun(store, id, 'anna')
    const grpcPort = await freePort()
    const limits = { maxActiveViewBytes: 3.5 * (await heldBytesOf(store, 'run_a1')) }
    const { url } = await serveNative({ store, auth: { keys }, limits, a2a: { defaultComponent: 'lab', grpcPort } })
    const reported = await follow({ url, grpc: `127.0.0.1:${grpcPort}`, key }, runs)
    await until('a stream is ended', () => reported().some((text) => TOO_MUCH.test(text)))
    expect(reported().filter((text) => TOO_MUCH.test(text))).toHaveLength(1)
  },
)
