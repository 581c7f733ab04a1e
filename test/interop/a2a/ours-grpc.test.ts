/** Our client with our server over gRPC, with network and server failures: streams resume exactly where they were cut. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { A2aClient, type A2aClientOptions, textOf, type TaskUpdate, type A2aVersion } from '../../../src/a2a/index.ts'
import { serveInProcess } from '../../support/in-process.ts'
import { type ServerProcess, startServer } from '../../support/process.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { collected } from './seen.ts'

const HASTE: A2aClientOptions = { bindings: ['GRPC'], pollIntervalMs: 20, retryDelayMs: 50, retries: 60 }

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `[${index}]`)

const chunksOf = (updates: readonly TaskUpdate[]): string[] =>
  updates.flatMap((update) => {
    const text = 'artifactUpdate' in update ? textOf(update.artifactUpdate.artifact.parts) : ''
    return text === '' ? [] : [text]
  })

const numbersIn = (updates: readonly TaskUpdate[]): string[] =>
  chunksOf(updates).flatMap((text) => text.match(/\[\d+\]/g) ?? [])

async function grpcPortOf(url: string): Promise<number> {
  const client = await A2aClient.connect(url, { bindings: ['GRPC'] })
  client.close()
  return Number(client.interface.url.split(':').at(-1))
}

/** A client that calls through the proxy. */
async function through(
  proxy: TcpProxy,
  url: string,
  version: A2aVersion,
  more: A2aClientOptions = {},
): Promise<A2aClient> {
  const { card, interface: direct } = await A2aClient.connect(url, { bindings: ['GRPC'] })
  const moved = JSON.parse(JSON.stringify(card).replaceAll(direct.url, `127.0.0.1:${proxy.port}`)) as typeof card
  const client = await A2aClient.of(moved, url, { ...HASTE, versions: [version], ...more })
  onTestFinished(() => client.close())
  return client
}

describe.each(['1.0', '0.3'] as const)('our A2A client and server over gRPC in %s', (version) => {
  async function served() {
    const server = await serveInProcess({ a2a: { defaultComponent: 'lab', grpcPort: 0 } })
    const url = `${server.url}/a2a/lab`
    return { url, proxy: await startTcpProxy(await grpcPortOf(url)) }
  }

  test('[SUB-2] a stream whose connection is cut repeatedly has each event once and in order', async () => {
    const { url, proxy } = await served()
    const client = await through(proxy, url, version)
    const stream = client.stream('text 60 every 10')
    const seen: TaskUpdate[] = []
    let cuts = 0
    for await (const update of stream) {
      seen.push(update)
      if (seen.length % 9 !== 4) continue
      proxy.cut()
      cuts++
    }
    expect(cuts).toBeGreaterThan(4)
    // As if it had not been cut: missed text arrives in its original deltas.
    expect(chunksOf(seen)).toHaveLength(60)
    expect(numbersIn(seen)).toEqual(numbers(60))
    expect(stream.task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
    expect(stream.position).toMatch(/^\d+~[0-9a-f]{8}$/)
  })

  test('[SUB-3] a silent connection is replaced, and the next one continues', async () => {
    const { url, proxy } = await served()
    // Longer than a busy machine takes to begin a task, which is not begun twice; shorter than the task.
    const client = await through(proxy, url, version, { idleTimeoutMs: 3000 })
    const seen: TaskUpdate[] = []
    const running = collected(client.stream('text 160 every 25'), seen)
    await until('it is at work', () => numbersIn(seen).length >= 5)
    proxy.strand()
    await running
    expect(numbersIn(seen)).toEqual(numbers(160))
  })

  test('[RUN-1] a server that is killed in the middle of a task: the client continues with the next one', async () => {
    const store = temporaryDatabase()
    const args = ['--a2a-default', 'lab-resume', '--a2a-grpc-port', '0']
    const first: ServerProcess = await startServer({ store, args })
    let port = await grpcPortOf(`${first.url}/a2a/lab-resume`)
    const proxy = await startTcpProxy(() => port)
    const client = await through(proxy, `${first.url}/a2a/lab-resume`, version)
    const seen: TaskUpdate[] = []
    const running = collected(client.stream('text 40 every 25'), seen)
    await until('it is at work', () => numbersIn(seen).length >= 8)
    await first.kill()
    const second = await startServer({ store, args })
    port = await grpcPortOf(`${second.url}/a2a/lab-resume`)
    await running
    expect(numbersIn(seen)).toEqual(numbers(40))
    expect(seen.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
  })
})
