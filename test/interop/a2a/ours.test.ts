/** Our client with our server: with the resume extension a stream resumes exactly where it was cut, also on another process. */
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  A2aClient,
  type A2aClientOptions,
  type BindingName,
  RESUME_EXTENSION,
  type Task,
  textOf,
  type TaskUpdate,
} from '../../../src/a2a/index.ts'
import { type InProcessOptions, serveInProcess } from '../../support/in-process.ts'
import { startServer } from '../../support/process.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { collected, cutting } from './seen.ts'

const HASTE: A2aClientOptions = { pollIntervalMs: 20, retryDelayMs: 10, retries: 60 }

async function connected(url: string, how: A2aClientOptions): Promise<A2aClient> {
  const client = await A2aClient.connect(url, how)
  onTestFinished(() => client.close())
  return client
}

function chunksOf(updates: readonly TaskUpdate[]): { readonly text: string; readonly append: boolean }[] {
  return updates.flatMap((update) => {
    if (!('artifactUpdate' in update)) return []
    const { artifact, append = false } = update.artifactUpdate
    const text = textOf(artifact.parts)
    return text === '' ? [] : [{ text, append }]
  })
}

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `[${index}]`)

const numbersIn = (updates: readonly TaskUpdate[]): string[] =>
  chunksOf(updates).flatMap(({ text }) => text.match(/\[\d+\]/g) ?? [])

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('our A2A client and server over %s', (binding) => {
  describe.each(['1.0', '0.3'] as const)('in %s', (version) => {
    test.each(['break', 'end'] as const)(
      '[SUB-2] a stream that is cut at any byte (%s) has each event once and in order',
      async (how) => {
        const server = await serveInProcess()
        const cuts = Array.from({ length: 25 }, (_, index) => 900 + ((index * 617) % 2400))
        const options = { ...HASTE, bindings: [binding], versions: [version], fetch: cutting(cuts, how) }
        const client = await A2aClient.connect(`${server.url}/a2a/lab`, options)
        const stream = client.stream('text 60 every 5')
        const updates = await collected(stream)
        expect(cuts.length).toBeLessThan(20)
        expect(chunksOf(updates).map(({ append }) => append)).toEqual(
          Array.from({ length: 60 }, (_, index) => index > 0),
        )
        expect(numbersIn(updates)).toEqual(numbers(60))
        expect(stream.task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
        expect(stream.position).toMatch(/^\d+~[0-9a-f]{8}$/)
      },
    )
  })

  test('[RUN-1] a server that is killed in the middle of a task: the client continues with the next one', async () => {
    const store = temporaryDatabase()
    const first = await startServer({ store })
    let now = first
    const elsewhere: typeof fetch = (input, init) => fetch((input as string).replace(first.url, now.url), init)
    const options = { ...HASTE, bindings: [binding], fetch: elsewhere, retryDelayMs: 100 }
    const client = await A2aClient.connect(`${first.url}/a2a/lab-resume`, options)
    const seen: TaskUpdate[] = []
    const running = collected(client.stream('text 40 every 25'), seen)
    await until('it is at work', () => numbersIn(seen).length >= 8)
    await first.kill()
    now = await startServer({ store })
    await running
    expect(numbersIn(seen)).toEqual(numbers(40))
    expect(seen.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
  })
})

/** gRPC is served only if it is enabled. */
const options = (binding: BindingName): InProcessOptions =>
  binding === 'GRPC' ? { a2a: { defaultComponent: 'lab', push: true, grpcPort: 0 } } : { a2a: { push: true } }

describe.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)('our A2A client and server over %s', (binding) => {
  test('a position can be used by another client, which continues there', async () => {
    const server = await serveInProcess(options(binding))
    const connect = () => connected(`${server.url}/a2a/lab`, { ...HASTE, bindings: [binding] })
    const stream = (await connect()).stream('text 30 every 5')
    const before: TaskUpdate[] = []
    for await (const update of stream) {
      before.push(update)
      if (numbersIn(before).length === 10) break
    }
    const { id } = stream.task!
    const after = await collected((await connect()).subscribe(id, { after: stream.position! }))
    expect(textOf((after[0] as { task: Task }).task.artifacts![0]!.parts)).toBe(
      textOf(stream.task!.artifacts![0]!.parts),
    )
    expect([...numbersIn(before), ...numbersIn(after)]).toEqual(numbers(30))
  })

  test('a card names the extension, tasks are listed page by page, and push configurations are stored', async () => {
    const server = await serveInProcess(options(binding))
    const client = await connected(`${server.url}/a2a/lab`, { ...HASTE, bindings: [binding] })
    expect(JSON.stringify(client.card)).toContain(RESUME_EXTENSION)
    for (const text of ['text 1', 'text 2', 'text 3']) await client.send(text)
    const first = await client.list({ pageSize: 2 })
    const rest = await client.list({ pageSize: 2, pageToken: first.nextPageToken })
    expect([first.tasks.length, rest.tasks.length, first.totalSize, rest.nextPageToken]).toEqual([2, 1, 3, ''])
    expect(first.tasks[0]).not.toHaveProperty('artifacts')
    const taskId = first.tasks[0]!.id
    const config = {
      id: 'hook',
      url: 'https://example.com/hook',
      authentication: { scheme: 'Bearer', credentials: 'c' },
    }
    expect(await client.createPushConfig(taskId, config)).toMatchObject({ taskId, id: 'hook', url: config.url })
    expect(await client.listPushConfigs(taskId)).toMatchObject([{ taskId, id: 'hook' }])
    await client.deletePushConfig({ taskId, id: 'hook' })
    expect(await client.listPushConfigs(taskId)).toEqual([])
  })

  test('[SEC-1] a client with a credential gets the extended card, and one without is rejected', async () => {
    const key = 'a-key-that-is-long-enough'
    const auth = { securityKey: key }
    const server = await serveInProcess({ ...options(binding), auth })
    const haste = { ...HASTE, bindings: [binding] }
    const stranger = await connected(`${server.url}/a2a/lab`, haste)
    await expect(stranger.send('text 1')).rejects.toMatchObject({ retryable: false })
    const { url } = stranger.interface
    const known = await connected(`${server.url}/a2a/lab`, {
      ...haste,
      // gRPC has a port of its own.
      origins: [url.startsWith('http') ? url : `http://${url}`],
      headers: () => ({ authorization: `Bearer ${key}` }),
    })
    expect(await known.extendedCard()).toHaveProperty('skills')
    expect(await known.send('text 1')).toHaveProperty('task')
  })
})
