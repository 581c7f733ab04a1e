/**
 * A message that the servers deliver twice, as after a partition between them: the response to the second copy, a refusal, may come
 * first. A refused writer looks for its own message before it concludes that another writer was faster.
 */
import { expect, onTestFinished, test } from 'vitest'
import { openNatsStore } from '../../src/stores/nats/index.ts'
import { readRecords } from '../../src/testing/conformance/reading.ts'
import { newRun } from '../../src/testing/fixtures.ts'
import { startNats } from '../support/nats.ts'
import { openRelay } from '../support/relay.ts'
import { newRunId, startRun } from './failing-servers.ts'

const server = await startNats()
let names = 0

interface DoublingProxy {
  readonly address: string
  /** The next message to such a subject reaches the server twice, and the answer to the first copy is lost. */
  doubleNext(subject?: 'log' | 'state'): void
  doubled: number
}

async function startDoublingProxy(): Promise<DoublingProxy> {
  let state: 'quiet' | 'armed' | 'answering' = 'quiet'
  let wanted = 'log'
  const relay = await openRelay(server.port, (incoming, outgoing) => {
    incoming.on('data', (piece: Buffer) => {
      outgoing.write(piece)
      if (state !== 'armed' || !new RegExp(`^HPUB doubled-\\d+\\.${wanted}\\.`).test(piece.toString('latin1'))) return
      state = 'answering'
      proxy.doubled++
      outgoing.write(piece)
    })
    outgoing.on('data', (piece: Buffer) => {
      if (state !== 'answering') return void incoming.write(piece)
      const text = piece.toString('latin1')
      const answer = /MSG _INBOX\.\S+ \d+ (\d+)\r\n\{"stream"/.exec(text)
      if (answer === null) return void incoming.write(piece)
      state = 'quiet'
      const start = answer.index
      const end = text.indexOf('\r\n', start) + 2 + Number(answer[1]) + 2
      incoming.write(Buffer.concat([piece.subarray(0, start), piece.subarray(end)]))
    })
  })
  onTestFinished(() => relay.close())
  const doubleNext = (subject = 'log'): void => {
    state = 'armed'
    wanted = subject
  }
  const proxy = { address: `127.0.0.1:${relay.port}`, doubleNext, doubled: 0 }
  return proxy
}

async function open(proxy: DoublingProxy) {
  // An answer that does not come at all is another test's: here the refusal comes long before.
  const options = { servers: [proxy.address], name: `doubled-${++names}`, partitions: 1, requestTimeoutMs: 30_000 }
  const store = await openNatsStore(options)
  onTestFinished(() => store.close())
  return store
}

test('[LOG-1] NATS: an append that is delivered twice counts as written, not as fenced', async () => {
  const proxy = await startDoublingProxy()
  const store = await open(proxy)
  const runWriter = await startRun(store)
  proxy.doubleNext()
  runWriter.text('once ')
  await runWriter.flush()
  expect(proxy.doubled).toBe(1)
  runWriter.complete()
  await runWriter.flush()
  expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
})

test('[RUN-1] NATS: a claim that is delivered twice belongs to the node that made it', async () => {
  const proxy = await startDoublingProxy()
  const store = await open(proxy)
  const draft = newRun(newRunId(), new Date().toISOString())
  await store.create(draft)
  proxy.doubleNext()
  expect(await store.claim(draft.run.id, 'worker-1', 60_000)).toMatchObject({ epoch: 1 })
  expect(proxy.doubled).toBe(1)
})

test('[RUN-4] NATS: a creation that is delivered twice is one run, reported as created', async () => {
  const proxy = await startDoublingProxy()
  const store = await open(proxy)
  const draft = newRun(newRunId(), new Date().toISOString())
  proxy.doubleNext()
  expect(await store.create(draft)).toMatchObject({ kind: 'created', stored: { next: 1 } })
  expect(proxy.doubled).toBe(1)
})

test('NATS: a document write that is delivered twice does not conflict with itself', async () => {
  const proxy = await startDoublingProxy()
  const store = await open(proxy)
  const draft = { owner: 'somebody', collection: 'notes', id: 'one', body: { text: 'mine' } }
  proxy.doubleNext('state')
  expect(await store.documents.put(draft, 0)).toMatchObject({ version: 1, body: { text: 'mine' } })
  expect(proxy.doubled).toBe(1)
})
