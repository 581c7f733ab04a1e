/** A redacted value is in no part of a run, and every attempt logs the same output. */
import { describe, expect, test } from 'vitest'
import { openNode, readEvents, subject, textOf, typesOf } from '../../../test/support/node.ts'
import { Random, testSeed } from '../../../test/support/random.ts'
import { hangAtFirst, recovering, World } from '../../../test/support/world.ts'
import { until } from '../../../test/support/until.ts'
import { type Component, createEvent, WorkError } from '../ports/component.ts'
import type { LoggedEvent } from '../model/event.ts'
import type { RedactOptions } from './redaction.ts'
import { redactions } from './redactions.ts'

const KEY = 'sk-abcdEFGH1234ijklMNOP5678qrst'
const MARK = '[redacted:api-key]'
const redact: RedactOptions = { patterns: [redactions.apiKeys] }

async function logOf(component: Component, options: RedactOptions = redact, input: unknown = null) {
  const node = openNode({ components: [component], redact: options })
  const id = await node.start(component.id, input)
  return node.ended(id)
}

function last(log: readonly LoggedEvent[]): LoggedEvent {
  return log.at(-1)!
}

describe('redaction of a run', () => {
  test('a secret is redacted in input and metadata, and the agent gets the redacted values in every attempt', async () => {
    const got: unknown[] = []
    const component = subject(async function* (input, { metadata }) {
      got.push(input, metadata)
      yield 'ok'
    })
    const node = openNode({ components: [component], redact })
    const id = await node.start('subject', { key: KEY, [KEY]: [KEY] }, { metadata: { note: `it is ${KEY}` } })
    const log = await node.ended(id)
    expect(got).toEqual([{ key: MARK, [MARK]: [MARK] }, { note: `it is ${MARK}` }])
    expect(JSON.stringify([log, await node.get(id)])).not.toContain(KEY)
  })

  const half = (at: 0 | 1): string => (at === 0 ? KEY.slice(0, 12) : KEY.slice(12))
  const emissions: readonly [string, Component['run']][] = [
    [
      'yielded strings',
      async function* () {
        yield `a ${half(0)}`
        yield `${half(1)} b`
      },
    ],
    [
      'interleaved texts of two messages',
      async function* () {
        for (const at of [0, 1] as const)
          for (const message of ['m1', 'm2']) yield createEvent('text.delta', { text: half(at), message })
      },
    ],
    [
      'reasoning',
      async function* () {
        for (const at of [0, 1] as const) yield createEvent('reasoning.delta', { text: half(at), message: 'm' })
        yield createEvent('reasoning.completed', { message: 'm' })
      },
    ],
    [
      'drafted tool inputs',
      async function* () {
        yield createEvent('tool.drafted', { call: 'c', name: 't', delta: `{"k":"${half(0)}` })
        yield createEvent('tool.drafted', { call: 'c', name: 't', delta: `${half(1)}"}` })
        yield createEvent('tool.called', { call: 'c', name: 't', input: { k: KEY } })
        yield createEvent('tool.completed', { call: 'c', name: 't', output: KEY })
        yield createEvent('tool.failed', { call: 'd', name: 't', error: { code: 'x', message: KEY, details: [KEY] } })
      },
    ],
    [
      'artifacts, sources, state and custom events',
      async function* () {
        yield createEvent('artifact.added', {
          artifact: 'a',
          mediaType: 'text/plain',
          name: KEY,
          text: KEY,
          value: { KEY },
        })
        yield createEvent('source.cited', { source: 's', url: `https://x/?k=${KEY}`, title: KEY })
        yield createEvent('state.replaced', { state: { at: new Date(0), keys: new Map([['k', KEY]]) } })
        yield createEvent('state.patched', { patch: [{ op: 'add', path: '/k', value: KEY }] })
        yield createEvent('custom.emitted', { name: 'n', value: [KEY] })
      },
    ],
    [
      'steps, stages, tools and progress',
      async function* (_, context) {
        await context.step('a', () => KEY)
        await context.stage(
          'b',
          async function* () {
            yield KEY
            return KEY
          },
          { kind: 'function', details: KEY },
        )
        await context.tool({ name: 't', input: KEY }, async ({ progress }) => (await progress(KEY), KEY))
        await context.step('c', () => Promise.reject(new Error(KEY))).catch(() => {})
        await context.tool({ name: 'u', input: KEY }, () => Promise.reject(new Error(KEY))).catch(() => {})
        yield* []
      },
    ],
    [
      'called components',
      async function* (_, context) {
        const member = subject(
          async function* () {
            yield half(0)
            yield half(1)
            return KEY
          },
          { id: 'member' },
        )
        await context.call(member, { key: KEY })
        yield* []
      },
    ],
    [
      'the output',
      async function* () {
        yield* []
        return { key: KEY }
      },
    ],
    [
      'an error that ends the run',
      async function* () {
        yield* []
        throw new Error(`cannot use ${KEY}`, { cause: new Error(KEY) })
      },
    ],
    [
      'a failure that the agent tells',
      async function* () {
        yield createEvent('run.failed', { error: { code: 'no', message: KEY, details: { KEY } } })
      },
    ],
    [
      'a rejection',
      async function* (_, context) {
        yield* []
        context.reject(KEY)
      },
    ],
  ]

  test.each(emissions)('a secret is redacted in %s', async (_what, run) => {
    const node = openNode({ components: [subject(run)], redact })
    const id = await node.start('subject')
    const log = JSON.stringify([await node.ended(id), await node.get(id)])
    expect(log).toContain(MARK)
    for (const part of [KEY, KEY.slice(12)]) expect(log).not.toContain(part)
  })

  test('a secret is redacted in questions and answers, and the agent gets the redacted answer, parked or not', async () => {
    for (const onPause of ['keep', 'release'] as const) {
      const answers: unknown[] = []
      const component = subject(
        async function* (_, { ask }) {
          answers.push(await ask({ prompt: `Is it ${KEY}?`, details: { KEY } }))
          yield 'thanks'
        },
        { onPause },
      )
      const node = openNode({ components: [component], redact })
      const id = await node.start('subject')
      const { run } = await node.reached(id, 'paused')
      expect(run.waiting).toMatchObject([{ id: 'question', prompt: `Is it ${MARK}?` }])
      await node.answer(id, { question: { key: KEY } })
      expect(JSON.stringify([await node.ended(id), await node.get(id)])).not.toContain(KEY)
      expect(answers).toEqual([{ key: MARK }])
    }
  })

  test('a secret is redacted in the reason of a stop', async () => {
    const node = openNode({
      components: [
        subject(async function* (_, { signal }) {
          yield 'a'
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
        }),
      ],
      redact,
    })
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta')
    await node.stop(id, `because of ${KEY}`)
    const log = await node.ended(id)
    expect(last(log)).toMatchObject({ type: 'run.cancelled', data: { reason: `because of ${MARK}` } })
    expect(JSON.stringify([log, await node.get(id)])).not.toContain(KEY)
  })
})

test('redaction: held text is logged before what follows it, and before the end', async () => {
  const log = await logOf(
    subject(async function* (_, { step }) {
      yield 'those token'
      yield ' s'
      await step('look', () => 1)
      yield 'sk'
      yield createEvent('custom.emitted', { name: 'n' })
      yield 'sk-'
    }),
  )
  const reported = log.flatMap((event) => (event.type === 'text.delta' ? [event.data.text] : [event.type]))
  expect(reported.slice(2)).toEqual([
    'those token',
    ' ',
    's',
    'step.started',
    'step.completed',
    'sk',
    'custom.emitted',
    'sk-',
    'run.completed',
  ])
})

test('redaction: without `redact` events are logged as they were emitted', async () => {
  const node = openNode({
    components: [
      subject(async function* () {
        yield 'sk'
        yield `-${KEY}`
      }),
    ],
  })
  const log = await node.ended(await node.start('subject'))
  expect(log.flatMap((event) => (event.type === 'text.delta' ? [event.data.text] : []))).toEqual(['sk', `-${KEY}`])
})

describe('[RUN-5] redaction after a crash', () => {
  test('matches recorded work by its input before redaction, and every attempt gets the redacted results', async () => {
    const done: string[] = []
    const seen: unknown[] = []
    const component = recovering('resume', async function* (_, context) {
      const tell = async (secret: string): Promise<unknown> =>
        context.tool({ name: 'tell', input: { secret } }, () => (done.push(secret), `${secret} is told`))
      seen.push(await tell(`${KEY}1`), await tell(`${KEY}2`))
      seen.push(await context.step('fail', () => Promise.reject(new Error(KEY))).catch((e: WorkError) => e.message))
      seen.push(
        await context.call(
          subject(
            async function* () {
              yield* []
              return KEY
            },
            { id: 'member' },
          ),
          KEY,
        ),
      )
      yield 'said'
      await hangAtFirst(context)
      seen.push(await tell(`${KEY}1`), await tell(`${KEY}3`))
      return 'end'
    })
    const world = new World(component)
    const first = world.worker(undefined, {}, redact)
    const id = await first.start('subject')
    await first.emitted(id, 'text.delta', 1)
    world.kill()
    const log = await world.worker(undefined, {}, redact).ended(id)
    expect(last(log)).toMatchObject({ type: 'run.completed', data: { output: 'end' } })
    expect(done).toEqual([`${KEY}1`, `${KEY}2`, `${KEY}1`, `${KEY}3`])
    const result = [`${MARK} is told`, `${MARK} is told`, MARK, MARK]
    expect(seen).toEqual([...result, ...result, `${MARK} is told`, `${MARK} is told`])
    expect(JSON.stringify(log)).not.toContain(KEY)
  })

  test('continues text exactly where the log ends, although it was cut and held elsewhere', async () => {
    const random = new Random(testSeed())
    for (let round = 0; round < 20; round++) {
      const text = `Well, sk, ${KEY}, s! ${KEY}sks and so ${KEY} s`
      const cuts: string[] = []
      for (let at = 0; at < text.length;) {
        const chars = random.between(1, 9)
        cuts.push(text.slice(at, (at += chars)))
      }
      const stop = random.between(1, cuts.length - 1)
      const component = recovering('resume', async function* (_, context) {
        for (const [at, piece] of cuts.entries()) {
          yield piece
          if (at % 4 === 3) await context.step(`s${at}`, () => KEY)
          if (at === stop) await hangAtFirst(context)
        }
      })
      const world = new World(component)
      const first = world.worker(undefined, {}, redact)
      const id = await first.start('subject')
      let size = -1
      await until(
        'the first attempt hangs',
        async () => {
          const now = (await readEvents(world.store, id)).length
          const isStill = now === size && now > 1
          size = now
          return isStill
        },
        { everyMs: 20 },
      )
      world.kill()
      const log = await world.worker(undefined, {}, redact).ended(id)
      expect(typesOf(log), `seed ${random.seed}, ${JSON.stringify(cuts)} until ${stop}`).not.toContain(
        'attempt.discarded',
      )
      expect(textOf(log)).not.toContain(KEY)
    }
  })
})

describe('redaction: a hook on events', () => {
  const hideInputs: RedactOptions = {
    event: (event) =>
      event.type === 'run.created' ? { ...event, data: { ...event.data, input: 'hidden', session: 'x' } } : event,
  }

  test('changes content, and nothing that links events', async () => {
    const log = await logOf(
      subject(async function* (input) {
        yield `got ${String(input)}`
      }),
      hideInputs,
      'mine',
    )
    expect(log[0]).toMatchObject({ type: 'run.created', data: { input: 'hidden' } })
    expect((log[0] as { data: { session: string } }).data.session).not.toBe('x')
    expect(textOf(log)).toBe('got hidden')
  })

  test.each<[string, RedactOptions['event'], string]>([
    [
      'throws',
      () => {
        throw new TypeError(`no ${KEY}`)
      },
      'threw TypeError for text.delta',
    ],
    ['returns a promise', (() => Promise.reject(new Error('no'))) as never, 'returned a promise for text.delta'],
    ['returns nothing', (() => undefined) as never, 'did not return a valid text.delta'],
    [
      'returns another event',
      () => createEvent('text.delta', { text: 7 as never }),
      'did not return a valid text.delta',
    ],
  ])('a hook that %s fails the run, and the value is not logged', async (_what, hook, problem) => {
    const log = await logOf(
      subject(async function* () {
        yield KEY
      }),
      { event: (event) => (event.type === 'text.delta' ? hook!(event) : event) },
    )
    expect(last(log)).toMatchObject({ type: 'run.failed', data: { error: { code: 'internal' } } })
    expect(JSON.stringify(log)).toContain(problem)
    expect(JSON.stringify(log)).not.toContain(KEY)
  })

  test('a hook that always throws fails the start, and a run started before can be stopped', async () => {
    const hangs = subject(async function* (_, { signal }) {
      yield 'a'
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    let isBroken = false
    const node = openNode({
      components: [hangs],
      redact: {
        event: (event) => {
          if (isBroken) throw new Error('broken')
          return event
        },
      },
    })
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta')
    isBroken = true
    await expect(node.start('subject', KEY)).rejects.toMatchObject({ code: 'internal' })
    await node.stop(id, KEY)
    const log = await node.ended(id)
    expect(last(log)).toMatchObject({ type: 'run.cancelled' })
    expect(JSON.stringify([log, await node.get(id)])).not.toContain(KEY)
  })
})

describe('redaction by the patterns of a component', () => {
  const own: RedactOptions = { patterns: [{ name: 'badge', pattern: /B\d{4}/, maxChars: 5 }] }
  const speaks = (id: string, more: Partial<Component> = {}): Component =>
    subject(
      async function* () {
        yield `B1234 ${KEY}`
      },
      { id, ...more },
    )

  test('applies to its runs, in addition to those of the server', async () => {
    const node = openNode({ components: [speaks('one', { redact: own }), speaks('two')], redact })
    expect(textOf(await node.ended(await node.start('one')))).toBe(`[redacted:badge] ${MARK}`)
    expect(textOf(await node.ended(await node.start('two')))).toBe(`B1234 ${MARK}`)
  })

  test('applies to a run that calls it, from then on', async () => {
    const member = speaks('member', { redact: own })
    const log = await logOf(
      subject(async function* (_, { call }) {
        yield 'B1234. '
        await call(member, 'B5678')
        yield 'B9999'
      }),
      {},
    )
    expect(JSON.stringify(log)).toContain('B1234. ')
    expect(JSON.stringify(log)).not.toMatch(/B5678|B9999|B1234 /)
  })
})

describe('[RUN-4] redaction with an idempotency key', () => {
  test('the same start is one run, and another body a conflict, although both are redacted alike', async () => {
    const node = openNode({
      components: [
        subject(async function* () {
          yield 'a'
        }),
      ],
      redact,
    })
    const start = (input: string): Promise<string> => node.start('subject', input, { idempotencyKey: 'k' })
    const id = await start(`${KEY}1`)
    expect(await start(`${KEY}1`)).toBe(id)
    await expect(start(`${KEY}2`)).rejects.toMatchObject({ code: 'idempotency_conflict' })
  })

  test('the stored fingerprint is keyed, so that a short secret cannot be guessed from it', async () => {
    const fingerprints = await Promise.all(
      [0, 1].map(async () => {
        const node = openNode({
          components: [
            subject(async function* () {
              yield 'a'
            }),
          ],
          redact,
        })
        const { run } = await node.get(await node.start('subject', '4111', { idempotencyKey: 'k' }))
        return (await node.store.findByKey(run.owner, 'k'))!.fingerprint
      }),
    )
    expect(fingerprints[0]).not.toBe(fingerprints[1])
  })
})
