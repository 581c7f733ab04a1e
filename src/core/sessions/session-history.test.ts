/** Session history: selected runs, message format, read limits. */
import { describe, expect, test } from 'vitest'
import { aborted, openNode, subject, type TestNode } from '../../../test/support/node.ts'
import { hangAtFirst, World } from '../../../test/support/world.ts'
import { agent } from '../../agents/agent.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import type { Component, HistoryMessage, HistoryOptions } from '../ports/component.ts'
import type { LoggedEvent } from '../model/event.ts'

const SESSION = 'ses_history'

/** Yields `re: INPUT`; its output is the history it got. */
function echo(options?: HistoryOptions, id = 'subject'): Component {
  return agent<unknown>({
    id,
    async *run(input, { history }) {
      const reported = await history(options)
      yield `re: ${JSON.stringify(input)}`
      return { told: reported }
    },
  })
}

async function outputOf(
  node: TestNode,
  input: unknown,
  component = 'subject',
  session = SESSION,
): Promise<LoggedEvent[]> {
  return node.ended(await node.start(component, input, { session }))
}

function toldIn(log: readonly LoggedEvent[]): readonly HistoryMessage[] {
  return (log.at(-1)!.data as { output: { told: readonly HistoryMessage[] } }).output.told
}

function contentsOf(log: readonly LoggedEvent[]): string[] {
  return toldIn(log).map(({ role, content }) => `${role}: ${content}`)
}

describe('session history: a run gets the earlier runs', () => {
  test('earlier runs come oldest first, with input and output', async () => {
    const node = openNode({ components: [echo()] })
    const first = await outputOf(node, 'one')
    expect(toldIn(first)).toEqual([])
    const second = await outputOf(node, 'two')
    expect(toldIn(await outputOf(node, 'three'))).toEqual([
      { role: 'user', content: 'one', run: first[0]!.run },
      { role: 'assistant', content: 're: "one"', run: first[0]!.run },
      { role: 'user', content: 'two', run: second[0]!.run },
      { role: 'assistant', content: 're: "two"', run: second[0]!.run },
    ])
  })

  test('runs of other sessions are not included', async () => {
    const node = openNode({ components: [echo()] })
    await outputOf(node, 'one', 'subject', 'ses_other')
    expect(toldIn(await outputOf(node, 'two'))).toEqual([])
  })

  test('[SEC-1] runs of other owners are not included, even in a session of the same name', async () => {
    const node = openNode({ components: [echo()] })
    const other = { id: 'mallory' }
    const { run } = await node.startAs(other, 'subject', 'secret', { session: SESSION })
    await node.ended(run.id)
    expect(toldIn(await outputOf(node, 'two'))).toEqual([])
  })

  test('runs of other components are included only if the component asks for the session', async () => {
    const node = openNode({ components: [echo(), echo({ of: 'session' }, 'curious')] })
    await outputOf(node, 'one')
    await outputOf(node, 'two', 'curious')
    expect(contentsOf(await outputOf(node, 'three'))).toEqual(['user: one', 'assistant: re: "one"'])
    expect(toldIn(await outputOf(node, 'four', 'curious'))).toHaveLength(6)
  })

  test('a called component gets no history unless it asks for the session', async () => {
    const calling = (id: string, called: Component): Component =>
      agent<unknown>({
        id,
        async *run(input, { call }) {
          return call(called, input)
        },
      })
    const node = openNode({
      components: [echo(), calling('plain', echo()), calling('curious', echo({ of: 'session' }, 'inner'))],
    })
    await outputOf(node, 'one')
    await outputOf(node, 'one', 'plain')
    expect(toldIn(await outputOf(node, 'two', 'plain'))).toEqual([])
    expect(contentsOf(await outputOf(node, 'three', 'curious')).slice(0, 2)).toEqual([
      'user: one',
      'assistant: re: "one"',
    ])
  })
})

describe('session history: the input of an earlier run', () => {
  test.each<[string, unknown, string]>([
    ['a text', { text: 'look' }, 'look'],
    [
      'a text with files, by their names',
      {
        text: 'look',
        files: [
          { mediaType: 'image/png', name: 'cat.png', data: 'aGk=' },
          { mediaType: 'text/csv', url: 'https://a/b' },
        ],
      },
      'look\n[image/png: cat.png]\n[text/csv]',
    ],
    [
      'the last of several messages',
      {
        messages: [
          { role: 'user', content: 'before' },
          { role: 'assistant', content: 'yes' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'and now?' },
              { type: 'file', mediaType: 'image/png' },
            ],
          },
        ],
      },
      'and now?\n[image/png]',
    ],
    ['any other value, as JSON', { city: 'Rome' }, '{"city":"Rome"}'],
    ['nothing, as JSON', null, 'null'],
  ])('is %s', async (_, input, content) => {
    const node = openNode({ components: [echo()] })
    await outputOf(node, input)
    expect(toldIn(await outputOf(node, 'next'))[0]).toMatchObject({ role: 'user', content })
  })
})

describe('session history: the output of an earlier run', () => {
  async function toldOf(
    run: Component['run'],
    end?: (node: TestNode, id: string) => Promise<unknown>,
  ): Promise<string[]> {
    const answering = subject(async function* (input, context) {
      if (input !== 'first') return { told: await context.history() }
      return yield* run(input, context) as AsyncGenerator<string, unknown, void>
    })
    const node = openNode({ components: [answering] })
    const id = await node.start('subject', 'first', { session: SESSION })
    await end?.(node, id)
    await node.ended(id)
    return contentsOf(await outputOf(node, 'second')).slice(1)
  }

  test('is its output if that is a text', async () => {
    const answer = await toldOf(async function* () {
      yield 'thinking … '
      return 'the answer'
    })
    expect(answer).toEqual(['assistant: the answer'])
  })

  test('is its text otherwise, message by message, without retracted text', async () => {
    const answer = await toldOf(async function* (_, { stage }) {
      yield { type: 'text.delta', data: { text: 'Let me ', message: 'a' } }
      yield { type: 'text.delta', data: { text: 'see.', message: 'a' } }
      const failing = stage('failing', async function* () {
        yield 'never mind'
        throw new Error('no')
      })
      await failing.catch(() => {})
      yield { type: 'text.delta', data: { text: 'Done.', message: 'b' } }
      return { done: true }
    })
    expect(answer).toEqual(['assistant: Let me see.\n\nDone.'])
  })

  test('is its output as JSON if it had no text', async () => {
    const answer = await toldOf(async function* () {
      return { done: true }
    })
    expect(answer).toEqual(['assistant: {"done":true}'])
  })

  test('is its text so far if it was stopped', async () => {
    const answer = await toldOf(
      async function* (_, { signal }) {
        yield 'Once upon a time'
        await aborted(signal)
      },
      async (node, id) => {
        await node.emitted(id, 'text.delta')
        await node.stop(id)
      },
    )
    expect(answer).toEqual(['assistant: Once upon a time'])
  })

  test('a run without output is left out with its input', async () => {
    const failing = await toldOf(async function* () {
      throw new Error('no')
    })
    const rejecting = await toldOf(async function* (_, { reject }) {
      reject('not today')
    })
    expect([failing, rejecting]).toEqual([[], []])
  })
})

describe('session history: the limits', () => {
  test('keep whole exchanges, the newest', async () => {
    const reportOf = async (options: HistoryOptions): Promise<string[]> => {
      const node = openNode({ components: [echo(options)] })
      for (const word of ['a', 'bb', 'ccc']) await outputOf(node, word)
      return contentsOf(await outputOf(node, 'end')).filter((line) => line.startsWith('user'))
    }
    expect(await reportOf({ maxMessages: 4 })).toEqual(['user: bb', 'user: ccc'])
    expect(await reportOf({ maxMessages: 3 })).toEqual(['user: ccc'])
    expect(await reportOf({ maxMessages: 0 })).toEqual([])
    // Each is its word, and `re: "word"`: 12 bytes of the newest, 10 of the one before.
    expect(await reportOf({ maxBytes: 22 })).toEqual(['user: bb', 'user: ccc'])
    expect(await reportOf({ maxBytes: 21 })).toEqual(['user: ccc'])
    expect(await reportOf({ maxBytes: 11 })).toEqual([])
  })

  test('count bytes, not characters', async () => {
    const node = openNode({ components: [echo({ maxBytes: 14 })] })
    await outputOf(node, '🙂🙂')
    expect(toldIn(await outputOf(node, 'end'))).toEqual([])
  })

  test('include the logs that are read: if they are too long, the history ends', async () => {
    const store = createMemoryStore()
    let bytes = 0
    const counting = overriding(store, {
      read: async (id, after, maxBytes) => {
        const slice = await store.read(id, after, maxBytes)
        bytes += slice?.bytes.length ?? 0
        return slice
      },
    })
    const noisy = subject(async function* (input, { history }) {
      const received = input === 'end' ? await history() : []
      if (input === 'long')
        for (let n = 0; n < 200; n++) yield { type: 'custom.emitted', data: { name: 'x'.repeat(500) } }
      yield 'said'
      return { told: received }
    })
    const limits = { maxHistoryReadBytes: 20_000, maxReadBytes: 4096 }
    const node = openNode({ components: [noisy], store: counting, limits })
    for (const word of ['short', 'long', 'brief']) await outputOf(node, word)
    bytes = 0
    expect(contentsOf(await outputOf(node, 'end'))).toEqual(['user: brief', 'assistant: said'])
    expect(bytes).toBeLessThan(60_000)
  })
})

test('session history: a recovered run gets the history of its first attempt, whatever ended meanwhile', async () => {
  const received: string[][] = []
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const component = subject(
    async function* (input, context) {
      yield 'begun'
      if (input === 'slow') await released
      if (input === 'long') {
        received.push((await context.history({ maxMessages: 2 })).map(({ content }) => content))
        yield 'told'
        await hangAtFirst(context)
      }
      return `answer to ${String(input)}`
    },
    { recovery: 'resume' },
  )
  const world = new World(component)
  const node = world.worker()
  const start = (input: string): Promise<string> => node.start('subject', input, { session: SESSION })
  await node.ended(await start('before'))
  world.clock.advance(1)
  const slow = await start('slow')
  world.clock.advance(1)
  const long = await start('long')
  await node.emitted(long, 'text.delta', 2)
  world.clock.advance(1)
  release()
  await node.ended(slow)
  await node.ended(await start('meanwhile'))
  world.kill()
  await world.worker().ended(long)
  expect(received).toEqual([
    ['before', 'answer to before'],
    ['before', 'answer to before'],
  ])
})

test('session history: a run whose log was trimmed or removed is skipped', async () => {
  const node = openNode({ components: [echo()] })
  const [one, two] = [await outputOf(node, 'one'), await outputOf(node, 'two')]
  await outputOf(node, 'three')
  await node.store.trim(one[0]!.run, one.length - 1)
  await node.store.remove(two[0]!.run)
  expect(contentsOf(await outputOf(node, 'end'))).toEqual(['user: three', 'assistant: re: "three"'])
})
