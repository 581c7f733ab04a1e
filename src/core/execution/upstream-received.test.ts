/** Upstream events in a log: appended with their derived events, not matched in recovery, and left out if the run has redaction. */
import { describe, expect, test } from 'vitest'
import { hangAtFirst, World } from '../../../test/support/world.ts'
import { aborted, openNode, typesOf } from '../../../test/support/node.ts'
import { type Component, createEvent, type RunContext, emitTogether } from '../ports/component.ts'
import type { Event, LoggedEvent } from '../model/event.ts'

const received = (data: unknown): Event => createEvent('upstream.received', { protocol: 'x', name: 'piece', data })

function subject(run: (context: RunContext) => AsyncGenerator<Event | string>): Component {
  return { id: 'subject', kind: 'agent', recovery: 'resume', run: (_input, context) => run(context) }
}

function dataOf(log: readonly LoggedEvent[]): unknown[] {
  return log.flatMap((event) => (event.type === 'upstream.received' ? [event.data.data] : []))
}

test('an upstream’s event and what is derived from it are one append, so that no commit has one of them alone', async () => {
  const component = subject(async function* () {
    yield emitTogether([
      received({ n: 1 }),
      createEvent('text.delta', { text: 'a' }),
      createEvent('text.delta', { text: 'b' }),
    ])
  })
  const node = openNode({ components: [component] })
  const commits: string[][] = []
  const { store } = node as unknown as {
    store: { writer: (...args: never[]) => { append: (record: string, change?: never) => void } }
  }
  const writer = store.writer.bind(store)
  store.writer = (...args) => {
    const opened = writer(...args)
    const append = opened.append.bind(opened)
    let batch: string[] | undefined
    opened.append = (record, change?: never) => {
      if (batch === undefined) {
        batch = []
        commits.push(batch)
        queueMicrotask(() => (batch = undefined))
      }
      batch.push(/"type":"([^"]+)"/.exec(record)![1]!)
      append(record, change)
    }
    return opened
  }
  await node.ended(await node.start('subject'))
  expect(commits).toContainEqual(['upstream.received', 'text.delta', 'text.delta'])
})

test('a terminal event cannot be part of a batch', async () => {
  const component = subject(async function* () {
    yield emitTogether([received(1), createEvent('run.completed', {})])
  })
  const node = openNode({ components: [component] })
  const log = await node.ended(await node.start('subject'))
  expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'protocol_violation' } } })
  expect(typesOf(log)).not.toContain('upstream.received')
})

test('[RUN-1] a recovered run appends no event of the upstream again, even if the upstream repeats it in other words', async () => {
  let attempt = 0
  const component = subject(async function* (context) {
    attempt++
    for (let n = 0; n < 6; n++) {
      // Events without anything derived are dropped by count, too.
      yield emitTogether(
        n % 2 === 0
          ? [received({ n, attempt }), createEvent('text.delta', { text: `${n} ` })]
          : [received({ n, attempt })],
      )
      if (n === 3) await hangAtFirst(context)
    }
  })
  const world = new World(component)
  const id = await world.orphan(2)
  const log = await world.worker().ended(id)
  expect(dataOf(log)).toEqual([0, 1, 2, 3, 4, 5].map((n) => ({ n, attempt: n < 4 ? 1 : 2 })))
  expect(log.flatMap((event) => (event.type === 'text.delta' ? [event.data.text] : []))).toEqual(['0 ', '2 ', '4 '])
  expect(typesOf(log)).not.toContain('attempt.discarded')
})

/** Short form of a log without retracted events: an upstream's event as its data, a text as itself. */
function standing(log: readonly LoggedEvent[]): unknown[] {
  const discarded = log.flatMap((event) => (event.type === 'attempt.discarded' ? [event] : []))
  return log.flatMap((event) => {
    if (discarded.some(({ index, data }) => data.from <= event.index && event.index < index)) return []
    if (event.type === 'upstream.received') return [event.data.data]
    return event.type === 'text.delta' ? [event.data.text] : []
  })
}

/** Each attempt is a list of batches: the data of an upstream's event, and the texts that are derived from it. */
type Batch = readonly [data: string, ...derived: string[]]

/** The first attempt dies after all of its batches, and the second one completes. */
async function recoveredFrom(first: readonly Batch[], second: readonly Batch[]): Promise<LoggedEvent[]> {
  const component = subject(async function* (context) {
    for (const [data, ...derived] of context.attempt === 1 ? first : second)
      yield emitTogether([received(data), ...derived.map((text) => createEvent('text.delta', { text }))])
    await hangAtFirst(context)
  })
  const world = new World(component)
  const worker = world.worker()
  const id = await worker.start('subject')
  await worker.emitted(id, 'upstream.received', first.length)
  world.kill()
  return world.worker().ended(id)
}

describe('[RUN-5] after a crash, an upstream that is asked again', () => {
  test('an event whose text differs is retracted with the text, and the new event is logged', async () => {
    const log = await recoveredFrom(
      [
        ['R0', 'a'],
        ['R1', 'b', 'c'],
        ['R2', 'd'],
      ],
      [
        ['S0', 'a'],
        ['S1', 'b', 'x'],
        ['S2', 'y'],
      ],
    )
    expect(standing(log)).toEqual(['R0', 'a', 'S1', 'b', 'x', 'S2', 'y'])
    expect(log.filter(({ type }) => type === 'attempt.discarded')).toHaveLength(1)
  })

  test('more events than before repeat no text', async () => {
    const log = await recoveredFrom(
      [
        ['R0', 'a'],
        ['R1', 'b'],
      ],
      [['ping'], ['S0', 'a'], ['ping'], ['S1', 'b'], ['S2', 'c']],
    )
    expect(standing(log)).toEqual(['R0', 'a', 'R1', 'b', 'S2', 'c'])
  })

  test('fewer events than before lose no text', async () => {
    const log = await recoveredFrom(
      [['ping'], ['R0', 'a'], ['ping'], ['R1', 'b']],
      [
        ['S0', 'a'],
        ['S1', 'b'],
        ['S2', 'c'],
        ['S3', 'd'],
      ],
    )
    expect(standing(log)).toEqual(['ping', 'R0', 'a', 'ping', 'R1', 'b', 'S2', 'c', 'S3', 'd'])
  })

  test('an answer that ends earlier is retracted from the first event that is missing', async () => {
    const log = await recoveredFrom(
      [
        ['R0', 'a'],
        ['R1', 'b'],
      ],
      [['S0', 'a']],
    )
    expect(standing(log)).toEqual(['R0', 'a'])
  })
})

test('[RUN-6] events of an upstream without anything derived from them are not progress', async () => {
  const component = subject(async function* ({ attempt, signal }) {
    yield emitTogether([received('R0'), createEvent('text.delta', { text: 'a' })])
    for (let ping = 0; ping < attempt; ping++) yield emitTogether([received(`ping ${ping}`)])
    await aborted(signal)
  })
  const world = new World(component)
  const first = world.worker()
  const id = await first.start('subject')
  await first.emitted(id, 'upstream.received', 2)
  for (let attempt = 2; attempt <= 3; attempt++) {
    world.kill()
    await world.worker().emitted(id, 'upstream.received', attempt + 1)
  }
  world.kill()
  const log = await world.worker().endedWithin(id, 3)
  expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'interrupted' } } })
})

test('with redaction on, a secret that is cut into several events of an upstream is not kept in any of them', async () => {
  const component = subject(async function* () {
    for (const text of ['the key is sk-abc', 'def-123', ' and no more'])
      yield emitTogether([received({ text }), createEvent('text.delta', { text, message: 'm' })])
  })
  const node = openNode({ components: [component], redact: { patterns: [{ name: 'key', pattern: /sk-[a-z]+-\d+/ }] } })
  const log = await node.ended(await node.start('subject'))
  expect(dataOf(log)).toEqual([undefined, undefined, undefined])
  expect(JSON.stringify(log)).not.toMatch(/sk-|def-123/)
})

/** The first attempt dies after its pieces, the second one gets a snapshot. */
async function rejoined(
  first: readonly Event[],
  snapshot: readonly Event[],
  { isSnapshot = true } = {},
): Promise<LoggedEvent[]> {
  const component = subject(async function* (context) {
    if (context.attempt === 1) for (const event of first) yield emitTogether([received('piece'), event])
    else yield emitTogether([received('snapshot'), ...snapshot], { isSnapshot })
    await hangAtFirst(context)
  })
  const world = new World(component)
  const worker = world.worker()
  const id = await worker.start('subject')
  await worker.emitted(id, 'upstream.received', first.length)
  world.kill()
  return world.worker().ended(id)
}

describe('[RUN-5] after a crash, an upstream that repeats its text as a whole', () => {
  const started = createEvent('text.started', { message: 'm' })
  const completed = createEvent('text.completed', { message: 'm' })
  const say = (text: string): Event => createEvent('text.delta', { text, message: 'm' })
  const pieces = [started, say('a "b"'), say('\n'), say('c\\é')]

  test('a snapshot is appended with the text that the log lacks, and nothing is retracted', async () => {
    const log = await rejoined(pieces, [started, say('a "b"\nc\\é and more')])
    expect(standing(log)).toEqual(['piece', 'piece', 'a "b"', 'piece', '\n', 'piece', 'c\\é', 'snapshot', ' and more'])
    expect(typesOf(log)).not.toContain('attempt.discarded')
  })

  test('a snapshot without new text retracts nothing, even if it does not say that a text is complete', async () => {
    const log = await rejoined([...pieces, completed], [started, say('a "b"\nc\\é')])
    expect(standing(log).at(-1)).toBe('snapshot')
    expect(typesOf(log)).not.toContain('attempt.discarded')
  })

  test('a snapshot with another text retracts what differs', async () => {
    const log = await rejoined(pieces, [started, say('a "b"\nd')])
    expect(standing(log)).toEqual(['piece', 'piece', 'a "b"', 'piece', '\n', 'snapshot', 'd'])
  })

  describe('two interleaved texts', () => {
    const begin = (message: string): Event => createEvent('text.started', { message })
    const end = (message: string): Event => createEvent('text.completed', { message })
    const delta = (message: string, text: string): Event => createEvent('text.delta', { text, message })
    const interleaved = [
      begin('m'),
      delta('m', 'a'),
      begin('n'),
      delta('n', 'x'),
      delta('m', 'b'),
      end('m'),
      delta('n', 'y'),
    ]

    test('each gets only what the log lacks of it, and nothing is retracted', async () => {
      const log = await rejoined(interleaved, [begin('m'), delta('m', 'ab'), begin('n'), delta('n', 'xyz'), begin('o')])
      expect(typesOf(log)).not.toContain('attempt.discarded')
      expect(standing(log).filter((each) => each !== 'piece')).toEqual(['a', 'x', 'b', 'y', 'snapshot', 'z'])
      expect(log.filter(({ type }) => type === 'text.started')).toHaveLength(3)
    })

    test('the text of one that differs is retracted', async () => {
      const log = await rejoined(interleaved, [begin('m'), delta('m', 'ab'), begin('n'), delta('n', 'xq')])
      expect(typesOf(log)).toContain('attempt.discarded')
      expect(standing(log).filter((each) => each !== 'piece')).toEqual(['a', 'snapshot', 'b', 'xq'])
    })

    test('a text that the snapshot lacks is retracted', async () => {
      const log = await rejoined(interleaved, [begin('m'), delta('m', 'ab')])
      expect(typesOf(log)).toContain('attempt.discarded')
      expect(standing(log).filter((each) => each !== 'piece')).toEqual(['a', 'snapshot', 'b'])
    })
  })

  test('an increment of which the log has a part is retracted and appended as a whole', async () => {
    const log = await rejoined(pieces.slice(0, 2), [started, say('a "b"\n')], { isSnapshot: false })
    expect(standing(log)).toEqual(['snapshot', 'a "b"\n'])
  })
})
