/** If a store returns wrong records, the run's readers get an error: no events of another run, no endless loop. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openNode } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { agent } from '../../agents/agent.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { brokenReads } from '../../testing/broken-stores/foreign-reads.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import { isHoldfastError } from '../model/errors.ts'
import { defaultLimits } from '../model/limits.ts'
import { faultIn, readCheckedLog } from './read-log.ts'
import { localPrincipal } from '../model/principal.ts'
import { encodeRecord } from '../model/record.ts'
import { type Slice, sliceOf } from '../model/slice.ts'
import type { Store } from '../ports/store.ts'
import { SubscriptionRegistry } from './subscription-registry.ts'
import type { Sink } from './subscription.ts'

const clock = createFakeClock()

async function writing(store: Store, id = 'run_1'): Promise<RunWriter> {
  const made = newRun(id, clock.iso(), { claim: { worker: 'runWriter', ttlMs: 60_000 } })
  const { stored } = await store.create(made)
  const runWriter = new RunWriter(store, clock, stored, [made.record])
  runWriter.start()
  runWriter.text('a')
  runWriter.text('b')
  await runWriter.flush()
  return runWriter
}

function registryOf(store: Store, pollIntervalMs = 20): SubscriptionRegistry {
  const registry = new SubscriptionRegistry(store, { ...defaultLimits, pollIntervalMs, maxReadBytes: 1 })
  onTestFinished(() => registry.close())
  return registry
}

/** All that a subscription delivers, and how it ends. */
function sinkOf(): Sink & { readonly texts: string[]; failure?: unknown; isFinished: boolean } {
  const texts: string[] = []
  return {
    texts,
    isFinished: false,
    write: ({ bytes }: Slice) => texts.push(new TextDecoder().decode(bytes)) > 0,
    finished() {
      this.isFinished = true
    },
    failed(cause: unknown) {
      this.failure = cause
    },
  }
}

describe.each(brokenReads)('[STO-2] [SEC-1] [LOG-5] with a store that $name', ({ breakStore }) => {
  test('a subscription delivers the correct records, then fails', async () => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    const sink = sinkOf()
    registryOf(breakStore(store)).open('run_1', -1, sink)
    await until('it failed', () => sink.failure !== undefined)
    expect(isHoldfastError(sink.failure, 'unavailable')).toBe(true)
    expect(runWriter.records.join('').startsWith(sink.texts.join(''))).toBe(true)
  })

  test('a request gets 503, and the next request succeeds', async () => {
    const { service } = openNode({
      components: [
        agent({
          id: 'talks',
          async *run() {
            yield 'a'
            yield 'b'
          },
        }),
      ],
      store: breakStore(createMemoryStore()),
    })
    const { stored } = await service.start(localPrincipal, { component: 'talks', input: null, protocol: 'test' })
    const { id } = stored.run
    await until('it has ended', async () => (await service.get(localPrincipal, id)).run.status === 'completed')
    await expect(service.read(localPrincipal, id, 1)).rejects.toMatchObject({ code: 'unavailable', status: 503 })
    expect((await service.get(localPrincipal, id)).run.status).toBe('completed')
  })
})

test('[STO-2] [SEC-1] records in a hint are checked, and read from the log if they belong to another run', async () => {
  const store = createMemoryStore({ clock })
  const runWriter = await writing(store)
  const foreign = sliceOf(
    4,
    [encodeRecord('run_2', 4, clock.iso(), 'text.delta', '"type":"text.delta","data":{}}\n\n')],
    false,
  )
  const misleading = overriding(store, {
    watch: (id, listener) => store.watch(id, (hint) => listener(hint.slice ? { ...hint, slice: foreign } : hint)),
  })
  const sink = sinkOf()
  registryOf(misleading).open('run_1', -1, sink)
  await until('it is at the end', () => sink.texts.length === 4)
  runWriter.text('c')
  await runWriter.flush()
  await until('it has the next', () => sink.texts.length === 5)
  expect(sink.texts.join('')).toBe(runWriter.records.join(''))
})

test('[SUB-2] a log that became shorter than what was delivered ends the subscription with an error', async () => {
  const [store, behind] = [createMemoryStore({ clock }), createMemoryStore({ clock })]
  await writing(store)
  const made = newRun('run_1', clock.iso(), { claim: { worker: 'runWriter', ttlMs: 60_000 } })
  await behind.create(made)
  let current = store
  const failedOver = overriding(store, {
    get: (id) => current.get(id),
    read: (...parameters) => current.read(...parameters),
  })
  const sink = sinkOf()
  registryOf(failedOver).open('run_1', -1, sink)
  await until('it is at the end', () => sink.texts.length === 4)
  current = behind
  await until('it failed', () => sink.failure !== undefined)
  expect(isHoldfastError(sink.failure, 'cursor_invalid')).toBe(true)
})

test('[STO-2] the run and index of every record in a slice can be checked', () => {
  const record = (run: string, index: number): string =>
    encodeRecord(run, index, clock.iso(), 'text.delta', `"type":"text.delta","data":{"text":"ü ${index}"}}\n\n`)
  const right = [8, 9, 10, 11].map((index) => record('run_1', index))
  expect(faultIn('run_1', sliceOf(8, right, false))).toBeUndefined()
  expect(faultIn('run_1', sliceOf(8, right.with(2, record('run_2', 10)), false))).toMatch(/event 10 belongs to another/)
  expect(faultIn('run_1', sliceOf(8, right.with(2, record('run_1', 12)), false))).toMatch(/event 10 belongs to another/)
  expect(faultIn('run_1', { ...sliceOf(8, right, false), count: 3 })).toMatch(/bytes after event 10/)
  expect(faultIn('run_1', { ...sliceOf(8, right, false), count: 5 })).toMatch(/event 12 belongs to another/)
  expect(faultIn('run_1', sliceOf(8, [], false))).toMatch(/event 8 is missing/)
})

test('[STO-2] reads: the error names the store and what it returned', async () => {
  const store = createMemoryStore({ clock })
  await writing(store)
  const broken = overriding(store, { read: (id) => store.read(id, 0, 1) })
  await expect(readCheckedLog(broken, 'run_1', 2, 1)).rejects.toMatchObject({
    message: 'the store is unavailable',
    internalMessage: 'run run_1: the memory store returned invalid records: expected event 3, found event 1',
  })
})

test('[STO-2] all code outside the stores and their tests reads logs through the check', () => {
  const source = join(import.meta.dirname, '../..')
  const readers = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !/^(stores|testing)\/|\.test\.ts$|^core\/delivery\/read-log\.ts$/.test(path),
  )
  const around = readers.filter((path) =>
    /\b#?(?:store|from|source)\.read\(/.test(readFileSync(join(source, path), 'utf8')),
  )
  expect(around).toEqual([])
})
