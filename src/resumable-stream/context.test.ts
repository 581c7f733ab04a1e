import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { heldMegabytes } from '../../test/support/memory.ts'
import { temporaryDatabase } from '../../test/support/temporary.ts'
import { streamOf, textOf, untilError } from '../../test/support/text-streams.ts'
import { until } from '../../test/support/until.ts'
import { silentLogger } from '../core/ports/logger.ts'
import { holdfast } from '../mount/holdfast.ts'
import { createMemoryStore } from '../stores/memory.ts'
import {
  createResumableStreamContext,
  type CreateResumableStreamContextOptions,
  type ResumableStreamContext,
} from './context.ts'
import { resumableStreams, sources } from './stream-component.ts'

function open(options: Partial<CreateResumableStreamContextOptions> = {}): ResumableStreamContext {
  const store = options.holdfast === undefined ? { store: createMemoryStore() } : {}
  const context = createResumableStreamContext({ waitUntil: null, ...store, ...options })
  onTestFinished(() => context.close())
  return context
}

/** A source that the test writes. */
function source() {
  let controller!: ReadableStreamDefaultController<string>
  const cancel = vi.fn<() => void>()
  const readable = new ReadableStream<string>({ start: (own) => void (controller = own), cancel })
  const make = vi.fn<() => ReadableStream<string>>(() => readable)
  return { make, cancel, write: (text: string) => controller.enqueue(text), end: () => controller.close(), controller }
}

function done(...chunks: readonly unknown[]): () => ReadableStream<string> {
  return () => streamOf(...chunks)
}

describe('resumable-stream', () => {
  test('resumableStream delivers what its source has, chunk by chunk', async () => {
    const stream = await open().resumableStream('a', done('1\n', '2\n', '3\n'))
    const chunks: string[] = []
    for await (const chunk of stream!) chunks.push(chunk)
    expect(chunks).toEqual(['1\n', '2\n', '3\n'])
  })

  test('a second consumer gets the whole stream, before the end or after the first has read it', async () => {
    const context = open()
    const { make, write, end } = source()
    const first = await context.resumableStream('a', make)
    write('1\n')
    const second = await context.resumableStream('a', make)
    write('2\n')
    const third = await context.resumeExistingStream('a')
    end()
    expect([await textOf(third), await textOf(first), await textOf(second)]).toEqual(Array(3).fill('1\n2\n'))
    expect(make).toHaveBeenCalledTimes(1)
  })

  test('concurrent resumableStream calls with one id make one stream', async () => {
    const context = open()
    const { make, write, end } = source()
    const streams = await Promise.all(Array.from({ length: 5 }, () => context.resumableStream('a', make)))
    write('once')
    end()
    expect(await Promise.all(streams.map(textOf))).toEqual(Array(5).fill('once'))
    expect(make).toHaveBeenCalledTimes(1)
  })

  test('streams with other ids, and contexts with other prefixes, are separate', async () => {
    const store = createMemoryStore()
    const [one, two] = [open({ store, keyPrefix: 'one' }), open({ store, keyPrefix: 'two' })]
    const texts = [
      one.resumableStream('a', done('one a')),
      one.resumableStream('ü\u{1F41F}', done('one b')),
      two.resumableStream('a', done('two a')),
    ]
    expect(await Promise.all(texts.map(async (stream) => textOf(await stream)))).toEqual(['one a', 'one b', 'two a'])
    expect(await two.hasExistingStream('ü\u{1F41F}')).toBe(null)
  })

  test('a complete stream is DONE and resumes as null; an unknown one is null and resumes as undefined', async () => {
    const context = open()
    await textOf(await context.createNewResumableStream('a', done('x')))
    expect(await context.hasExistingStream('a')).toBe('DONE')
    expect(await context.resumeExistingStream('a')).toBe(null)
    expect(await context.resumableStream('a', done('never'))).toBe(null)
    expect(await context.hasExistingStream('b')).toBe(null)
    expect(await context.resumeExistingStream('b')).toBe(undefined)
  })

  test('createNewResumableStream replaces a stream with the same id', async () => {
    const context = open()
    await textOf(await context.createNewResumableStream('a', done('old')))
    const { make, write, end } = source()
    const created = await context.createNewResumableStream('a', make, 2)
    expect(await context.hasExistingStream('a')).toBe(true)
    const resumed = await context.resumeExistingStream('a')
    write('new')
    end()
    expect([await textOf(created), await textOf(resumed)]).toEqual(['new', 'new'])
  })

  test('skipCharacters skips UTF-16 code units, at every position and across chunks', async () => {
    const context = open()
    const { make, write, end } = source()
    const whole = 'ab\u{1F41F}\0d"é'
    await context.createNewResumableStream('a', make)
    // The second chunk starts with half of a surrogate pair.
    for (const chunk of ['ab\uD83D', '', '\uDC1F\0', 'd"é']) write(chunk)
    const positions = Array.from({ length: whole.length + 2 }, (_, skip) => skip)
    const resumed = await Promise.all(positions.map((skip) => context.resumeExistingStream('a', skip)))
    end()
    expect(await Promise.all(resumed.map(textOf))).toEqual(positions.map((skip) => whole.slice(skip)))
    for (const skip of [-1, 0.5, Number.NaN])
      await expect(context.resumeExistingStream('a', skip)).rejects.toThrow(`skipCharacters is ${skip}`)
  })

  test('a chunk that is larger than an event is stored in pieces', async () => {
    const large = '\u0001'.repeat(1_500_000)
    expect((await textOf(await open().resumableStream('a', done(large)))) === large).toBe(true)
  })

  test('an error of the source reaches every consumer after the text, then and later', async () => {
    const context = open()
    const { make, write, controller } = source()
    const first = await context.resumableStream('a', make)
    write('before')
    controller.error(new Error('model overloaded'))
    const failure = { text: 'before', error: { name: 'RunError', code: 'agent_failed', message: 'model overloaded' } }
    expect(await untilError(first)).toMatchObject(failure)
    expect(await context.hasExistingStream('a')).toBe(true)
    expect(await untilError(await context.resumeExistingStream('a', 0))).toMatchObject(failure)
    expect(await untilError(await context.resumableStream('a', done('never'), 3))).toMatchObject({ text: 'ore' })
  })

  test('a source that throws, or has bytes instead of strings, is an error that says so', async () => {
    const context = open()
    const throws = (): never => {
      throw new Error('no such model')
    }
    expect(await untilError(await context.resumableStream('a', throws))).toMatchObject({
      error: { message: 'no such model' },
    })
    expect(await untilError(await context.resumableStream('b', done(new Uint8Array(1))))).toMatchObject({
      error: { message: expect.stringContaining('TextDecoderStream') },
    })
  })

  test('a consumer that cancels ends neither the stream nor other consumers', async () => {
    const context = open()
    const { make, cancel, write, end } = source()
    const first = await context.resumableStream('a', make)
    const second = await context.resumeExistingStream('a')
    await first!.cancel()
    write('on')
    end()
    expect(await textOf(second)).toBe('on')
    expect(cancel).not.toHaveBeenCalled()
  })

  test('a cancel returns at once while the source is silent, and gives its subscription back', async () => {
    // One for the context, which waits for the end, and one for a reader.
    const limits = { maxSubscribersPerRun: 2 }
    const hf = holdfast({ components: [resumableStreams], store: createMemoryStore(), limits })
    onTestFinished(() => hf.close())
    const context = open({ holdfast: hf })
    const { make, write, end } = source()
    const reader = (await context.resumableStream('a', make))!.getReader()
    write('begun')
    await reader.read()
    const pending = reader.read()
    await reader.cancel()
    expect(await pending).toEqual({ done: true, value: undefined })
    const next = (await context.resumeExistingStream('a'))!.getReader()
    expect((await next.read()).value).toBe('begun')
    end()
  })

  test('the source is read to its end without a reader of the stream, and waitUntil gets a promise for that', async () => {
    const promises: Promise<unknown>[] = []
    const context = open({ waitUntil: (promise) => void promises.push(promise) })
    const stream = await context.resumableStream('a', done(...Array<string>(2000).fill('x')))
    expect(promises).toHaveLength(1)
    await promises[0]
    expect(await context.hasExistingStream('a')).toBe('DONE')
    expect((await textOf(stream)).length).toBe(2000) // opened before the end
  })

  test('a stalled consumer buffers one page, not the stream', async () => {
    const context = open({ store: `sqlite:${temporaryDatabase()}` })
    const chunk = 'x'.repeat(100_000)
    await textOf(await context.resumableStream('warm-up', done(chunk)))
    const { make, write, end } = source()
    await context.resumableStream('a', make)
    const streams = await Promise.all(Array.from({ length: 20 }, () => context.resumeExistingStream('a')))
    const readers = streams.map((stream) => stream!.getReader())
    const before = await heldMegabytes()
    for (let count = 0; count < 100; count++) write(chunk)
    end()
    for (const reader of readers) await reader.read()
    await until('the source was read', async () => (await context.hasExistingStream('a')) === 'DONE')
    expect((await heldMegabytes()) - before).toBeLessThan(60) // their streams together: 200 MB
    let length = chunk.length
    for (let next = await readers[0]!.read(); !next.done; next = await readers[0]!.read()) length += next.value.length
    expect(length).toBe(100 * chunk.length)
  })

  test('only a context starts a stream: a run with an input that was guessed, or taken from a log, fails', async () => {
    const hf = holdfast({ components: [resumableStreams], store: createMemoryStore(), logger: silentLogger })
    onTestFinished(() => hf.close())
    const { make, write, end } = source()
    const reader = (await open({ holdfast: hf }).resumableStream('a', make))!.getReader()
    write('begun')
    await reader.read()
    const { runs } = await hf.runs.list()
    const inputs: unknown[] = [{ stream: 'a', source: 'guessed' }, 'text', null]
    for await (const event of hf.runs.open(runs[0]!.id).events()) {
      if (event.type === 'run.created') inputs.push(event.data.input)
      if (event.type === 'text.delta') break
    }
    expect(inputs).toHaveLength(4)
    for (const input of inputs) {
      const run = await hf.runs.start({ component: 'resumable-stream', input })
      await expect(run.result()).rejects.toMatchObject({ code: 'interrupted' })
    }
    end()
  })

  test('a queued run that another node claims has no source there: its stream is interrupted', async () => {
    const limits = { maxConcurrentRuns: 1, maxRunsPerPrincipal: 1 }
    const hf = holdfast({ components: [resumableStreams], store: createMemoryStore(), limits, logger: silentLogger })
    onTestFinished(() => hf.close())
    const context = open({ holdfast: hf })
    const { make, end } = source()
    await context.resumableStream('a', make)
    await until('the first has its source', () => make.mock.calls.length === 1)
    const queued = await context.resumableStream('b', done('never'))
    sources().clear() // another process has others
    end()
    expect(await untilError(queued)).toMatchObject({ text: '', error: { code: 'interrupted' } })
  })

  test('a stream is a run of an instance of the application, in which it is stopped', async () => {
    const hf = holdfast({ components: [resumableStreams], store: createMemoryStore(), logger: silentLogger })
    onTestFinished(() => hf.close())
    const context = open({ holdfast: hf })
    const { make, cancel, write } = source()
    const stream = await context.resumableStream('a', make)
    write('begun')
    const reader = stream!.getReader()
    expect((await reader.read()).value).toBe('begun')
    const [run] = (await hf.runs.list({ session: 'resumable-stream:a' })).runs
    await hf.runs.stop(run!.id, { reason: 'enough' })
    await expect(reader.read()).rejects.toMatchObject({ code: 'cancelled', message: 'enough' })
    await until('the source was cancelled', () => cancel.mock.calls.length === 1)
  })

  test('close lets a source finish, and ends readers that have not read it to its end with an error', async () => {
    const store = `sqlite:${temporaryDatabase()}`
    const context = open({ store })
    const { make, write, end } = source()
    const unread = await context.resumableStream('a', make)
    write('all ')
    const closing = context.close()
    write('of it')
    end()
    await closing
    await expect(unread!.getReader().read()).rejects.toThrow('the context was closed')
    expect(await open({ store }).hasExistingStream('a')).toBe('DONE')
    expect(sources().size).toBe(0)
  })

  test('unknown options, and options that cannot be combined, are refused', () => {
    const create = (options: object) => () => createResumableStreamContext({ waitUntil: null, ...options })
    expect(create({ publisher: {} })).toThrow('unknown option publisher')
    expect(create({ waitUntil: 'later' })).toThrow('waitUntil must be a function')
    expect(create({ store: 'memory:', holdfast: { runs: {} } })).toThrow('cannot be combined')
  })
})
