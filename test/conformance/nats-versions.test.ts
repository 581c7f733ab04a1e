/** NATS versions on which the store could lose or mix up events are rejected, on any server of the cluster. */
import { expect, onTestFinished, test } from 'vitest'
import type { Logger } from '../../src/core/ports/logger.ts'
import { openNatsStore, type OpenNatsOptions } from '../../src/stores/nats/index.ts'
import { createNatsCluster, natsProgram, startNats } from '../support/nats.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { startRun } from './failing-servers.ts'

const [tooOld, oldest, newest] = [
  await startNats({ release: 'too-old' }),
  await startNats({ release: 'oldest' }),
  await startNats(),
]

async function open(options: Partial<OpenNatsOptions>): Promise<Awaited<ReturnType<typeof openNatsStore>>> {
  const store = await openNatsStore({ servers: [], partitions: 1, requestTimeoutMs: 500, ...options })
  onTestFinished(() => store.close())
  return store
}

test('NATS: a server older than 2.11 is rejected, with the reason', async () => {
  const refused = open({ servers: [tooOld.address] })
  await expect(refused).rejects.toMatchObject({ code: 'unsupported' })
  await expect(open({ servers: [tooOld.address] })).rejects.toThrow(
    new RegExp(`${tooOld.address} is nats-server 2\\.10\\.\\d+, but Holdfast needs 2\\.11 or later: before that`),
  )
})

test('NATS: the oldest and the newest supported server are accepted', async () => {
  for (const { address } of [oldest, newest]) {
    const runWriter = await startRun(await open({ servers: [address] }))
    runWriter.complete()
    await expect(runWriter.flush()).resolves.toBeUndefined()
  }
})

test('NATS: a supported server is rejected while its cluster has an unsupported one', async () => {
  const servers = await createNatsCluster(2, { programs: [await natsProgram('newest'), await natsProgram('too-old')] })
  onTestFinished(() => Promise.all(servers.map((server) => server.remove())).then(() => undefined))
  await Promise.all(servers.map((server) => server.start()))
  const [good, old] = servers
  const opening = (): Promise<unknown> =>
    openNatsStore({ servers: [good!.address], partitions: 1, replicas: 1, requestTimeoutMs: 500 }).catch(
      (cause: unknown) => cause,
    )
  const refused = await until('the server knows of the other', async () => {
    const opened = await opening()
    return String(opened).includes('2.10') ? opened : undefined
  })
  expect(String(refused)).toContain(`${old!.address} is nats-server 2.10.`)
})

test('NATS: a node whose server is replaced by an unsupported one leaves it, logs it, and continues with a supported one', async () => {
  let target = newest.port
  const proxy = await startTcpProxy(() => target)
  const errors: string[] = []
  const nothing = (): void => {}
  const error = (_: object, message: string): void => void errors.push(message)
  const logger: Logger = { debug: nothing, info: nothing, warn: nothing, error }
  const store = await open({ servers: [`127.0.0.1:${proxy.port}`], name: 'replaced', logger })
  const runWriter = await startRun(store)
  target = tooOld.port
  proxy.cut()
  await until('it says so', () => {
    const health = store.health()
    return !health.ok && health.reason.includes('Holdfast needs 2.11')
  })
  expect(errors).toContain('a NATS server of the cluster is not supported')
  target = newest.port
  proxy.cut()
  runWriter.text('goes on')
  await runWriter.flush()
  expect(store.health().ok).toBe(true)
})
