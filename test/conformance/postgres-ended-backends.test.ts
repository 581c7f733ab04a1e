/** Backends that the server ends as soon as they are ready: an error on an idle connection does not end the process. */
import { expect, onTestFinished, test } from 'vitest'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { readRecords } from '../../src/testing/conformance/reading.ts'
import { startPostgres } from '../support/postgres.ts'
import { openRelay } from '../support/relay.ts'
import { startRun } from './failing-servers.ts'

const server = await startPostgres()

const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** The server's message to a connection that `pg_terminate_backend` ends. */
function terminated(): Buffer {
  const fields = ['SFATAL', 'VFATAL', 'C57P01', 'Mterminating connection due to administrator command', '']
  const body = Buffer.from(fields.map((field) => `${field}\0`).join(''))
  const head = Buffer.from([0x45, 0, 0, 0, 0])
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** A proxy that ends the next `connections` connections in the same packet that reports them ready. */
async function startEndingProxy(): Promise<{
  readonly url: string
  endNext(connections: number): void
  ended: number
}> {
  let left = 0
  const relay = await openRelay(server.port, (incoming, outgoing) => {
    let isStarting = true
    incoming.pipe(outgoing)
    outgoing.on('data', (piece: Buffer) => {
      const isReady = isStarting && piece.subarray(-READY.length).equals(READY)
      isStarting &&= !isReady
      if (!isReady || left === 0) return void incoming.write(piece)
      left--
      proxy.ended++
      incoming.end(Buffer.concat([piece, terminated()]))
      outgoing.destroy()
    })
  })
  onTestFinished(() => relay.close())
  const proxy = {
    url: server.url.replace(`:${server.port}/`, `:${relay.port}/`),
    endNext: (connections: number) => void (left = connections),
    ended: 0,
  }
  return proxy
}

test('PostgreSQL: a connection that is terminated as soon as it is ready is replaced, and no error escapes', async () => {
  const escaped: unknown[] = []
  const onEscaped = (cause: unknown): void => void escaped.push(cause)
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', onEscaped)
  onTestFinished(() => {
    process.off('uncaughtException', onEscaped)
    for (const listener of before) process.on('uncaughtException', listener)
  })
  const proxy = await startEndingProxy()
  const store = await openPostgresStore({ url: proxy.url, schema: 'ended_backends', connections: 3 })
  onTestFinished(() => store.close())
  const runWriter = await startRun(store)
  proxy.endNext(6)
  await server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast'`)
  for (let number = 0; number < 10; number++) {
    runWriter.text(`${number} `)
    await runWriter.flush()
    await store.get(runWriter.id)
  }
  expect(escaped).toEqual([])
  expect(proxy.ended).toBeGreaterThan(1)
  expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
})
