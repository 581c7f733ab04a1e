/** Isolated components: all features work in their threads, and a crash or loop affects only its run. */
import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { jsonSchemaOf } from '../../src/core/schema/json-schema.ts'
import { isolated, type IsolatedOptions } from '../../src/agents/isolated/component.ts'
import type { Component, Emission, RunContext } from '../../src/core/ports/component.ts'
import type { LoggedEvent } from '../../src/core/model/event.ts'
import { redactions } from '../../src/core/redaction/redactions.ts'
import { call, getRun, readEvents, startRun, stopRun, untilFinished } from '../support/http.ts'
import { openNode, subject, textOf, type TestNode } from '../support/node.ts'
import { type ServerProcess, startServer } from '../support/process.ts'
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { everything } from './isolated/everything.ts'
import { replayer } from './isolated/replayer.ts'

const WAIT_MS = 40_000

function load(name: string, options?: IsolatedOptions): Promise<Component> {
  return isolated(new URL(`./isolated/${name}.ts`, import.meta.url), options)
}

describe('an isolated component', () => {
  test('writes the same log as in the server’s thread', async () => {
    const logs = []
    for (const component of [{ ...everything, onPause: 'release' as const }, await load('everything')]) {
      const node = openNode({ components: [component] })
      const id = await node.start('everything', { text: 'x' }, { metadata: { a: 1 } })
      await node.reached(id, 'paused', WAIT_MS)
      const [question] = (await node.get(id)).run.waiting!
      await node.answer(id, { [question!.id]: 7 })
      logs.push(comparable(id, await node.ended(id, WAIT_MS)))
    }
    const [direct, threaded] = logs
    expect(direct!.at(-1)).toMatchObject({ type: 'run.completed' })
    expect(threaded).toEqual(direct)
  })

  test('knows whether it repeats what is in its log', async () => {
    const outputs = []
    for (const component of [{ ...replayer, onPause: 'release' as const }, await load('replayer')]) {
      const node = openNode({ components: [component] })
      const id = await node.start('replayer')
      const { run } = await node.reached(id, 'paused', WAIT_MS)
      await node.answer(id, { [run.waiting![0]!.id]: 'yes' })
      const { data } = (await node.ended(id, WAIT_MS)).at(-1)!
      outputs.push((data as { readonly output?: unknown }).output)
    }
    expect(outputs).toEqual([
      { before: true, after: false },
      { before: true, after: false },
    ])
  })

  test('rejects an input by the `input` of its options before the run is accepted', async () => {
    const component = await isolated(new URL('./isolated/counter.ts', import.meta.url), { input: z.number() })
    const node = openNode({ components: [component] })
    await expect(node.start('counter', 'ten')).rejects.toMatchObject({ code: 'invalid_request' })
    expect((await node.ended(await node.start('counter', 1), WAIT_MS)).at(-1)!.type).toBe('run.completed')
  })

  test('[SEC-3] is redacted by the rules of the server and its own', async () => {
    const own = { patterns: [{ name: 'badge', pattern: /B\d{4}/ }] }
    const component = await load('keyholder', { export: 'keyholder', redact: own })
    const node = openNode({ components: [component], redact: { patterns: [redactions.apiKeys] } })
    const log = await node.ended(await node.start('keyholder', 'sk-abcdEFGH1234ijklMNOP'), WAIT_MS)
    expect(textOf(log)).toBe('the key is [redacted:api-key] for badge [redacted:badge]')
    expect(log.at(-1)).toMatchObject({ type: 'run.completed', data: { output: '[redacted:api-key]' } })
    await expect(load('keyholder', { export: 'refused' })).rejects.toThrow('pass it to isolated() instead')
  })

  test('is described by its module', async () => {
    const loaded = await load('everything')
    expect(jsonSchemaOf(loaded.input!, 'input')).toEqual({ title: 'Anything' })
    expect(loaded).toMatchObject({
      id: 'everything',
      kind: 'agent',
      recovery: 'resume',
      description: 'a component of all trades',
      limits: { stopGraceMs: 200 },
    })
    await expect(load('missing')).rejects.toThrow(/missing.*cannot be isolated/)
    await expect(load('hostile', { export: 'nobody' })).rejects.toThrow(/does not export a component named nobody/)
    await expect(load('hostile', { memoryMb: 0 })).rejects.toThrow(/memoryMb must be a positive integer/)
  })
})

describe('an isolated run', () => {
  test.each([
    ['exit', { code: 'agent_failed', message: /process\.exit\(3\)/, details: { reason: 'exit', exitCode: 3 } }],
    ['exit 0', { code: 'agent_failed', message: /process\.exit\(0\)/, details: { reason: 'exit', exitCode: 0 } }],
    ['leak', { code: 'agent_failed', message: /more than 32 MB/, details: { reason: 'out_of_memory', memoryMb: 32 } }],
    ['timer', { code: 'agent_failed', message: /boom in timer/, details: { reason: 'uncaught', type: 'Error' } }],
    ['rejection', { code: 'agent_failed', message: /boom in rejection/, details: { type: 'TypeError' } }],
    [
      'function',
      { code: 'unserializable', message: /data\.output\.f is a function/, details: { path: 'data.output.f' } },
    ],
    ['throw', { code: 'agent_failed', message: /^boom thrown$/, details: { type: 'RangeError' } }],
    ['flood', { code: 'protocol_violation', message: /pending at once/, details: {} }],
  ])('an agent that does %s fails its own run and no other', async (deed, { code, message, details }) => {
    const { node, bystander } = await openHostile()
    const log = await node.ended(await node.start('hostile', deed), WAIT_MS)
    const failed = log.at(-1)!
    expect(failed.type).toBe('run.failed')
    const { error } = failed.data as { error: { code: string; message: string; details: object } }
    expect(error.code).toBe(code)
    expect(error.message).toMatch(message)
    expect(error.details).toMatchObject(details)
    await expectUnharmed(node, bystander)
  })

  test.each(['loop', 'deaf'])('an agent that does %s is ended by a stop, and so is its thread', async (deed) => {
    const { node, bystander } = await openHostile({ maxConcurrentRuns: 1 })
    const heartbeat = join(temporaryFolder(), 'heartbeat')
    const id = await node.start('hostile', deed, { metadata: { heartbeat } })
    await until('its thread is busy', () => existsSync(heartbeat), { withinMs: WAIT_MS })
    await node.stop(id)
    expect((await node.ended(id, WAIT_MS)).at(-1)!.type).toBe('run.cancelled')
    // The only slot is free again, so the thread has stopped its heartbeat.
    for (let count = 0; count < 2; count++) {
      expect((await node.ended(await node.start('hostile', 'throw'), WAIT_MS)).at(-1)!.type).toBe('run.failed')
      if (count === 0) rmSync(heartbeat)
    }
    expect(existsSync(heartbeat)).toBe(false)
    await expectUnharmed(node, bystander)
  })

  test('a run that loops is ended by its idle timeout', async () => {
    const { node, bystander } = await openHostile({ maxConcurrentRuns: 1 }, { runIdleTimeoutMs: 1500 })
    const log = await node.ended(await node.start('hostile', 'loop'), WAIT_MS)
    expect(log.at(-1)!.data).toMatchObject({ error: { code: 'idle_timeout' } })
    expect((await node.ended(await node.start('hostile', 'throw'), WAIT_MS)).at(-1)!.type).toBe('run.failed')
    await expectUnharmed(node, bystander)
  })

  test('is notified of a stop by its signal', async () => {
    const { node } = await openHostile({}, { stopGraceMs: 600_000 }) // it would not end by itself
    const id = await node.start('hostile', 'abort')
    await node.emitted(id, 'text.delta')
    await node.stop(id)
    expect((await node.ended(id, WAIT_MS)).at(-1)!.type).toBe('run.cancelled')
  })

  test('can be rejected by its code and by its component’s schema', async () => {
    const { node } = await openHostile()
    const ends = await Promise.all(
      ['reject', 'unknown'].map(async (deed) => (await node.ended(await node.start('hostile', deed), WAIT_MS)).at(-1)),
    )
    expect(ends).toMatchObject([
      { type: 'run.rejected', data: { reason: 'not today' } },
      { type: 'run.rejected', data: { reason: 'the input does not match the schema of hostile: no deed "unknown"' } },
    ])
  })

  test('waits for a thread if all are in use', async () => {
    const node = openNode({ components: [await load('counter', { maxConcurrentRuns: 1 })] })
    const ids = await Promise.all([20, 20, 20].map((goal) => node.start('counter', goal)))
    const logs = await Promise.all(ids.map((id) => node.ended(id, WAIT_MS)))
    expect(logs.map((log) => log.at(-1)!.type)).toEqual(Array<string>(3).fill('run.completed'))
  })

  test('an isolated call that fails does not fail the calling run', async () => {
    const hostile = await load('hostile')
    const caller = subject(async function* (_, context) {
      yield await context.call(hostile, 'exit').then(String, (error: unknown) => (error as Error).message)
    })
    const node = openNode({ components: [caller] })
    const log = await node.ended(await node.start('subject'), WAIT_MS)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(textOf(log)).toContain('process.exit(3)')
  })

  test('is subject to backpressure from the log', async () => {
    const writer = await load('writer')
    const [first, second] = [openWriter(writer), openWriter(writer)]
    // While one emits its texts, the other has the time to run ahead.
    for (const { path, stream } of [first, second]) {
      for (let n = 1; n <= 20; n++) {
        expect(await stream.next()).toEqual({ done: false, value: 'x' })
        expect(statSync(path).size).toBe(n)
      }
    }
    expect(statSync(first.path).size).toBe(20)
  })
})

/** The writer as a run executes it, each in a separate thread. */
function openWriter(writer: Component): { path: string; stream: AsyncGenerator<Emission, unknown, void> } {
  const path = join(temporaryFolder(), 'progress')
  const { signal } = new AbortController()
  const context = { run: 'r', session: 's', owner: 'o', metadata: {}, attempt: 1, replaying: false, signal }
  const stream = writer.run(path, {
    ...context,
    sleep: () => Promise.resolve(),
  } as unknown as RunContext) as AsyncGenerator<Emission, unknown, void>
  onTestFinished(async () => void (await stream.return(undefined)))
  return { path, stream }
}

describe('a server with isolated components', () => {
  const open = (store: string): Promise<ServerProcess> =>
    startServer({ store, command: ['serve', join(import.meta.dirname, 'isolated/served.ts')] })

  test('streams other runs and serves requests while an isolated run loops or leaks memory', async () => {
    const server = await open(temporaryDatabase())
    const [loop, leak] = await Promise.all(
      ['loop', 'leak'].map((deed) => startRun(server, deed, { component: 'hostile' })),
    )
    await until('the loop has begun', async () => (await countOf(server, loop!.id)) > 0)
    const { id } = await startRun(server, '100', { component: 'counter' })
    expect((await call(server, 'GET', '/health')).status).toBe(200)
    expect((await untilFinished(server, id, WAIT_MS)).status).toBe('completed')
    expect((await untilFinished(server, leak!.id, WAIT_MS)).error).toMatchObject({
      code: 'agent_failed',
      details: { reason: 'out_of_memory' },
    })
    expect((await getRun(server, loop!.id)).status).toBe('running')
    expect((await stopRun(server, loop!.id, 15_000)).status).toBe('cancelled')
  })

  test('[RUN-5] resumes an isolated run from its log after SIGKILL', async () => {
    const store = temporaryDatabase()
    const first = await open(store)
    const { id } = await startRun(first, '150', { component: 'counter' })
    await until('it has counted for a while', async () => (await countOf(first, id)) > 40, { withinMs: WAIT_MS })
    await first.kill()
    const second = await open(store)
    const { status, output } = await untilFinished(second, id, WAIT_MS)
    expect(status).toBe('completed')
    const events = await readEvents(second, id)
    const numbers = events.flatMap(({ type, data }) => (type === 'text.delta' ? [Number(data['text'])] : []))
    expect(numbers).toEqual(Array.from({ length: 150 }, (_, n) => n + 1))
    const seeds = events.filter(({ type, data }) => type === 'step.completed' && data['name'] === 'seed')
    expect(seeds.map(({ data }) => ({ seed: data['output'] }))).toEqual([output])
    expect(events.filter(({ type }) => type === 'run.started')).toHaveLength(2)
  })
})

/** Events of a run so far. */
async function countOf(server: ServerProcess, id: string): Promise<number> {
  const json = { headers: { accept: 'application/json' } }
  const { body } = await call<{ events: { type: string }[] }>(server, 'GET', `/runs/${id}/events`, json)
  return body.events.filter(({ type }) => type === 'text.delta').length
}

async function openHostile(
  options: IsolatedOptions = {},
  limits: object = {},
): Promise<{ node: TestNode; bystander: string }> {
  const talker = subject(async function* (_, { sleep, signal }) {
    for (let n = 0; !signal.aborted; n++) {
      yield `${n} `
      await sleep(5)
    }
  })
  const node = openNode({ components: [await load('hostile', { memoryMb: 32, ...options }), talker], limits })
  return { node, bystander: await node.start('subject') }
}

/** Another run keeps streaming. */
async function expectUnharmed(node: TestNode, bystander: string): Promise<void> {
  const before = (await node.log(bystander)).length
  await until('the other run goes on', async () => (await node.log(bystander)).length > before + 10)
  await node.stop(bystander)
  expect((await node.ended(bystander)).at(-1)!.type).toBe('run.cancelled')
}

/** Without what differs between any two runs. */
function comparable(id: string, log: readonly LoggedEvent[]): object[] {
  const text = JSON.stringify(log)
    .replaceAll(id, 'RUN')
    .replaceAll(/"(digest|session)":"[^"]+"/g, '"$1":"X"')
  return (JSON.parse(text) as LoggedEvent[]).map(({ time: _time, ...event }) => event)
}
