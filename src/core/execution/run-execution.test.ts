/** Every agent behaviour leads to one defined outcome of its run. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openNode, subject, textOf } from '../../../test/support/node.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { openSqliteStore } from '../../stores/sqlite/index.ts'
import { type Component, createEvent, type Emission, type RunContext } from '../ports/component.ts'
import { HoldfastError } from '../model/errors.ts'
import type { Failure, LoggedEvent } from '../model/event.ts'
import type { Store } from '../ports/store.ts'

type Run = Component['run']

class Unreadable extends Error {
  override get message(): string {
    throw new Error('no')
  }
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

/** An agent that yields these values, valid or not. */
function yields(...emissions: readonly unknown[]): Run {
  return async function* () {
    for (const emission of emissions) yield emission as Emission
  }
}

function throws(make: () => unknown): Run {
  return async function* () {
    yield 'a'
    throw make()
  }
}

/** An agent without events; the result of `act` is the output of its run. */
function does(act: (context: RunContext) => unknown): Run {
  return async function* (_, context) {
    yield* []
    return act(context)
  }
}

function fail(): never {
  throw new Error('boom')
}

/** Marks code of an agent that must not be reached. */
function unreachable(): never {
  throw new Error('this was not to be reached')
}

interface Expected {
  readonly type: 'run.completed' | 'run.failed' | 'run.rejected'
  readonly output?: unknown
  readonly error?: Partial<Failure>
  readonly reason?: string
  /** The text that is in the log before the end. */
  readonly text?: string
}

function completed(output?: unknown, text = ''): Expected {
  return { type: 'run.completed', ...(output !== undefined && { output }), text }
}

function failed(code: string, message: string, text = '', details?: object): Expected {
  return { type: 'run.failed', error: { code, message, ...(details && { details }) }, text }
}

const violation = (what: string, text = ''): Expected => failed('protocol_violation', `the agent yielded ${what}`, text)

const unserializable = (event: string, path: string, problem: string, text = ''): Expected =>
  failed('unserializable', `event ${event}: ${path} ${problem}`, text, { event, path, problem })

const notIterable = failed(
  'protocol_violation',
  'the agent did not return an async iterable; is its `run` an async generator (`async *run`)?',
)

const behaviours: readonly (readonly [string, Run, Expected])[] = [
  ['yields nothing', yields(), completed()],
  ['returns without a terminal event', yields('a', 'b'), completed(undefined, 'ab')],
  ['returns a value', does(() => ({ answer: 42 })), completed({ answer: 42 })],
  ['yields a terminal event', yields('a', createEvent('run.completed', { output: 'b' })), completed('b', 'a')],
  [
    'yields after its terminal event',
    yields('a', createEvent('run.completed', {}), 'b', createEvent('run.completed', {})),
    completed(undefined, 'a'),
  ],
  ['yields garbage after its terminal event', yields(createEvent('run.completed', {}), null), completed()],
  [
    'says that it failed',
    yields('a', createEvent('run.failed', { error: { code: 'mine', message: 'no luck' } })),
    failed('mine', 'no luck', 'a'),
  ],
  [
    'says that it refuses',
    yields(createEvent('run.rejected', { reason: 'not that' })),
    { type: 'run.rejected', reason: 'not that' },
  ],
  [
    'refuses by its context',
    async function* (_, context) {
      yield 'a'
      context.reject('not that')
    },
    { type: 'run.rejected', reason: 'not that', text: 'a' },
  ],

  [
    'throws an error',
    throws(() => new RangeError('boom')),
    failed('agent_failed', 'boom', 'a', { type: 'RangeError' }),
  ],
  ['throws an error without a message', throws(() => new TypeError()), failed('agent_failed', 'TypeError', 'a')],
  ['throws a string', throws(() => 'boom'), failed('agent_failed', 'boom', 'a', { type: 'string' })],
  ['throws undefined', throws(() => undefined), failed('agent_failed', 'undefined', 'a', { type: 'undefined' })],
  ['throws null', throws(() => null), failed('agent_failed', 'null', 'a')],
  ['throws an object', throws(() => ({ code: 'rate_limited' })), failed('agent_failed', '[object Object]', 'a')],
  [
    'throws an error that cannot be read',
    throws(() => new Unreadable()),
    failed('agent_failed', 'a value that cannot be shown', 'a'),
  ],
  [
    'throws an error whose name cannot be read',
    throws(() => Object.defineProperty(new Error('boom'), 'name', { get: fail })),
    failed('agent_failed', 'boom', 'a'),
  ],
  ['throws a proxy that is revoked', throws(revoked), failed('agent_failed', 'a value that cannot be shown', 'a')],
  [
    'has a step that throws an error whose name cannot be read',
    does((context) =>
      context.step('s', () => {
        throw Object.defineProperty(new Error('boom'), 'name', { get: fail })
      }),
    ),
    failed('agent_failed', 'boom'),
  ],
  [
    'throws what a store throws that is gone',
    throws(() => new HoldfastError('unavailable', 'gone')),
    failed('agent_failed', 'gone', 'a'),
  ],
  [
    'throws what a store throws that took its claim',
    throws(() => new HoldfastError('fenced', 'lost')),
    failed('agent_failed', 'lost', 'a'),
  ],
  [
    'throws before it yields',
    () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('boom')) }) }),
    failed('agent_failed', 'boom'),
  ],

  ['yields null', yields('a', null), violation('null, which is not an event', 'a')],
  ['yields undefined', yields(undefined), violation('undefined, which is not an event')],
  ['yields a number', yields(7), violation('a number, which is not an event')],
  ['yields a function', yields(() => 1), violation('a function, which is not an event')],
  [
    'yields an object without a type',
    yields({ text: 'a' }),
    violation('an object without a known type, which is not an event'),
  ],
  ['yields bytes', yields(new Uint8Array([1])), violation('an object without a known type, which is not an event')],
  [
    'yields an unknown type',
    yields({ type: 'text.spoken', data: {} }),
    violation('an object of type "text.spoken", which is not an event'),
  ],
  [
    'yields the name of a property of all objects',
    yields({ type: 'constructor', data: {} }),
    violation('an object of type "constructor", which is not an event'),
  ],
  [
    "yields a runner's event",
    yields({ type: 'run.started', data: { attempt: 9 } }),
    violation('run.started, which only Holdfast may write'),
  ],
  [
    'yields a pause',
    yields({ type: 'run.paused', data: { questions: [] } }),
    violation('run.paused, which only Holdfast may write'),
  ],
  [
    'cancels itself',
    yields({ type: 'run.cancelled', data: {} }),
    violation('run.cancelled, which only Holdfast may write'),
  ],
  [
    'yields a tool result with a key',
    yields(createEvent('tool.completed', { call: 'c', name: 't', output: 1, key: 'k' })),
    violation('tool.completed with a key, which only Holdfast may set'),
  ],
  [
    'yields a step with a key',
    yields(createEvent('step.started', { step: 's', name: 's', key: 'k' })),
    violation('step.started with a key, which only Holdfast may set'),
  ],

  [
    'yields an event without data',
    yields({ type: 'custom.emitted' }),
    unserializable('custom.emitted', 'data', 'is not an object'),
  ],
  [
    'yields data that is not an object',
    yields({ type: 'custom.emitted', data: 'a' }),
    unserializable('custom.emitted', 'data', 'is not an object'),
  ],
  [
    'yields a function in an event',
    yields('a', createEvent('custom.emitted', { name: 'x', value: [() => 1] })),
    unserializable('custom.emitted', 'data.value[0]', 'is a function', 'a'),
  ],
  [
    'yields a terminal event that cannot be serialized',
    yields('a', createEvent('run.completed', { output: { f() {} } })),
    unserializable('run.completed', 'data.output.f', 'is a function', 'a'),
  ],
  [
    'returns what cannot be serialized',
    async function* () {
      yield 'a'
      return new Map([['k', Symbol('s')]])
    },
    unserializable('run.completed', 'data.output.k', 'is a symbol', 'a'),
  ],
  [
    'yields a failure that cannot be serialized',
    yields(createEvent('run.failed', { error: { code: 'mine', message: 'm', details: () => 1 } })),
    unserializable('run.failed', 'data.error.details', 'is a function'),
  ],
  [
    'yields too much at once',
    yields('a', 'b'.repeat(2000)),
    failed(
      'output_too_large',
      'event text.delta: data.text is 2002 bytes long; the limit is 1000. Emit it in several pieces',
      'a',
    ),
  ],
  [
    'yields too large an artifact',
    yields(
      'a',
      createEvent('artifact.added', { artifact: 'rows', mediaType: 'application/json', value: ['b'.repeat(2000)] }),
    ),
    failed(
      'output_too_large',
      expect.stringMatching(
        /^event artifact.added: data.* bytes long; the limit is 1000. Emit it as text or bytes in chunks with append, or emit a URL$/,
      ) as string,
      'a',
    ),
  ],
  [
    'throws too long a message',
    throws(() => new Error('b'.repeat(2000))),
    failed('output_too_large', expect.stringContaining('event run.failed: data is') as string, 'a'),
  ],

  ['is an async function', (async () => 'a') as unknown as Run, notIterable],
  [
    'is an async function that throws',
    (async () => {
      throw new Error('boom')
    }) as unknown as Run,
    notIterable,
  ],
  ['returns nothing at all', (() => undefined) as unknown as Run, notIterable],
  ['returns a list', (() => ['a']) as unknown as Run, notIterable],
  [
    'throws instead of returning',
    () => {
      throw new Error('boom')
    },
    failed('agent_failed', 'boom'),
  ],
  [
    'has an iterator that gives garbage',
    () => ({ [Symbol.asyncIterator]: () => ({ next: async () => undefined as never }) }),
    failed('agent_failed', expect.any(String) as string),
  ],

  [
    'gives a step no name',
    does((context) => context.step('', () => 'x')),
    failed('agent_failed', 'a step, tool, call or branch needs a name of 1 to 256 characters'),
  ],
  ['has a step that throws', does((context) => context.step('s', fail)), failed('agent_failed', 'boom')],
  ['catches what a step throws', does((context) => context.step('s', fail).catch(() => 'b')), completed('b')],
  [
    'catches what a tool throws',
    does((context) => context.tool({ name: 't', input: 1 }, fail).catch(() => 'b')),
    completed('b'),
  ],
  [
    'has a step whose result cannot be serialized',
    does((context) => context.step('s', () => ({ f() {} })).then(unreachable)),
    unserializable('step.completed', 'data.output.f', 'is a function'),
  ],
  [
    'catches that its step could not be recorded',
    does((context) => context.step('s', () => Symbol('s')).catch(() => 'b')),
    unserializable('step.completed', 'data.output', 'is a symbol'),
  ],
  [
    'gives a tool what cannot be serialized',
    does((context) => context.tool({ name: 't', input: { f() {} } }, unreachable)),
    unserializable('tool.called', 'data.input.f', 'is a function'),
  ],
  [
    'asks what cannot be serialized',
    does((context) => context.ask({ prompt: 'p', details: () => 1 })),
    unserializable('run.paused', 'data.questions[0].details', 'is a function'),
  ],
]

function expectOutcome(log: readonly LoggedEvent[], { type, text = '', ...data }: Expected): void {
  const last = log.at(-1)!
  expect(last.type).toBe(type)
  expect(log.filter((event) => /^run\.(completed|failed|cancelled|rejected)$/.test(event.type))).toHaveLength(1)
  expect(log.map(({ index }) => index)).toEqual(log.map((_, index) => index))
  expect(textOf(log)).toBe(text)
  expect(last.data).toMatchObject(data)
  expect('output' in last.data).toBe(data.output !== undefined)
}

describe.each(['memory', 'sqlite'])('[RUN-1] [RUN-3] [LOG-3] on %s, a run has one outcome', (name) => {
  let store: Store
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))
    store = name === 'memory' ? createMemoryStore() : await openSqliteStore({ path: join(folder, 'runs.db') })
  })
  afterAll(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })

  test.each(behaviours)('an agent that %s has one outcome', async (_, run, expected) => {
    const node = openNode({ store, components: [subject(run)], limits: { maxEventBytes: 1000 } })
    expectOutcome(await node.ended(await node.start('subject')), expected)
  })
})

test.each([
  ['cannot be read', () => new Unreadable()],
  ['has a name that cannot be read', () => Object.defineProperty(new Error('boom'), 'name', { get: fail })],
  ['is a proxy that is revoked', revoked],
])('[RUN-1] an error that %s does not break the server’s logger', async (_, make) => {
  const logger = pino({ level: 'debug' }, { write: () => {} })
  const node = openNode({ components: [subject(throws(make))], logger })
  const log = await node.ended(await node.start('subject'))
  expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'agent_failed' } } })
})
