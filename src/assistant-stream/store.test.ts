import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryDatabase } from '../../test/support/temporary.ts'
import { silentLogger } from '../core/ports/logger.ts'
import { holdfast } from '../mount/holdfast.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { assistantStreams, createResumableStreamStore, openResumableStreamStore } from './store.ts'

const never = new AbortController().signal

/** A store whose clock `pass` moves ahead. */
function open() {
  const hf = holdfast({
    components: [assistantStreams],
    store: createMemoryStore(),
    limits: { drainTimeoutMs: 0 },
    logger: silentLogger,
  })
  onTestFinished(() => hf.close())
  let ahead = 0
  const store = openResumableStreamStore({ holdfast: hf }, () => Date.now() + ahead)
  return { hf, store, pass: (milliseconds: number) => void (ahead += milliseconds) }
}

type Store = ReturnType<typeof open>['store']

async function entriesOf(store: Store, cursor = '', signal = never) {
  const entries = []
  for await (const entry of store.read('a', cursor, signal)) entries.push(entry)
  return entries
}

describe('assistant-stream store', () => {
  test('any bytes are read back unchanged: no text, half a character, nothing, a megabyte', async () => {
    const { store } = open()
    await store.acquire('a')
    const large = new Uint8Array(1_500_000).map((_, index) => index % 251)
    const chunks = [new Uint8Array([0xff, 0, 0xfe]), new TextEncoder().encode('ü').slice(1), new Uint8Array(), large]
    for (const chunk of chunks) await store.append('a', chunk)
    await store.finalize('a', 'done')
    const read = (await entriesOf(store)).map(({ chunk }) => chunk)
    expect(read.slice(0, 3)).toEqual(chunks.slice(0, 3))
    expect(Buffer.compare(Buffer.concat(read.slice(3)), large)).toBe(0)
  })

  test('append copies the part of a buffer that it was given', async () => {
    const { store } = open()
    await store.acquire('a')
    const buffer = new TextEncoder().encode('xabcx')
    const appended = store.append('a', buffer.subarray(1, 4))
    buffer.fill(0)
    await appended
    await store.finalize('a', 'done')
    expect(Buffer.from((await entriesOf(store))[0]!.chunk).toString()).toBe('abc')
  })

  test('of concurrent acquisitions one is the producer, first and after the stream has expired', async () => {
    const { store, pass } = open()
    const acquire = () => Promise.all(Array.from({ length: 5 }, () => store.acquire('a', { ttlMs: 60_000 })))
    expect((await acquire()).toSorted()).toEqual([...Array<string>(4).fill('consumer'), 'producer'])
    pass(60_000)
    expect((await acquire()).toSorted()).toEqual([...Array<string>(4).fill('consumer'), 'producer'])
  })

  test('a stream is missing when its time to live has passed since its end', async () => {
    const { store, pass } = open()
    await store.acquire('a', { ttlMs: 60_000 })
    pass(50_000)
    await store.append('a', new Uint8Array([1]))
    await store.finalize('a', 'done')
    expect(await store.status('a')).toBe('done')
    pass(60_000)
    expect(await store.status('a')).toBe('missing')
    await expect(entriesOf(store)).rejects.toMatchObject({ code: 'missing' })
  })

  test('a reader that waits gets an error when the stream expires', async () => {
    const { store } = open()
    await store.acquire('a', { ttlMs: 20 })
    await expect(entriesOf(store)).rejects.toThrow('Stream expired')
    expect(await store.status('a')).toBe('missing')
  })

  test('a cursor of a stream that was replaced is refused', async () => {
    const { store } = open()
    await store.acquire('a')
    await store.append('a', new Uint8Array([1]))
    await store.finalize('a', 'done')
    const [{ cursor } = { cursor: '' }] = await entriesOf(store)
    await store.delete('a')
    expect(await store.acquire('a')).toBe('producer')
    await expect(entriesOf(store, cursor)).rejects.toThrow('belongs to another stream')
    await expect(entriesOf(store, 'x')).rejects.toThrow('belongs to another stream')
  })

  test('only the store that acquired a stream appends to it; others read it', async () => {
    const { hf, store } = open()
    const other = createResumableStreamStore({ holdfast: hf })
    await store.acquire('a')
    await expect(other.append('a', new Uint8Array([1]))).rejects.toThrow('written by another process')
    await expect(other.finalize('a', 'done')).rejects.toThrow('written by another process')
    await store.append('a', new Uint8Array([2]))
    await store.finalize('a', 'done')
    expect((await entriesOf(other)).map(({ chunk }) => [...chunk])).toEqual([[2]])
  })

  test('a stream is a run of an instance of the application; a stop there ends it with an error', async () => {
    const { hf, store } = open()
    await store.acquire('a')
    await store.append('a', new TextEncoder().encode('Hello'))
    const [run] = (await hf.runs.list({ session: 'assistant-stream:a' })).runs
    await hf.runs.stop(run!.id, { reason: 'enough', waitMs: 60_000 })
    await expect(entriesOf(store)).rejects.toThrow('enough')
    expect(await store.status('a')).toBe('error')
    await expect(store.append('a', new Uint8Array([1]))).rejects.toMatchObject({ code: 'finalized' })
  })

  test('written chunks survive a reopen of the store', async () => {
    const store = `sqlite:${temporaryDatabase()}`
    const first = createResumableStreamStore({ store })
    await first.acquire('a')
    await first.append('a', new Uint8Array([1]))
    await first.finalize('a', 'error', 'model overloaded')
    await first.close()
    const second = createResumableStreamStore({ store })
    onTestFinished(() => second.close())
    expect(await second.status('a')).toBe('error')
    await expect(entriesOf(second)).rejects.toThrow('model overloaded')
    expect(await second.acquire('a')).toBe('consumer')
  })

  test('invalid ids, unknown options, and options that cannot be combined are refused', async () => {
    const { store } = open()
    for (const id of ['', 'a b', 'ü', 'x'.repeat(257)])
      await expect(store.acquire(id)).rejects.toMatchObject({ code: 'invalid-id' })
    const create = (options: object) => () => createResumableStreamStore(options)
    expect(create({ client: {} })).toThrow('unknown option client')
    expect(create({ store: 'memory:', holdfast: { runs: {} } })).toThrow('cannot be combined')
  })
})
