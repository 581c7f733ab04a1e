/** A subscription delivers the log from its cursor, even if hints are lost. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { openNode, subject, withoutHints } from '../../../test/support/node.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import { isHoldfastError } from '../model/errors.ts'
import { defaultLimits, type Limits } from '../model/limits.ts'
import { localPrincipal } from '../model/principal.ts'
import { type Slice, sliceAfter, sliceBefore } from '../model/slice.ts'
import type { Hint, HintListener, Store } from '../ports/store.ts'
import { SubscriptionRegistry } from './subscription-registry.ts'
import type { Sink, Subscription } from './subscription.ts'

const RUN = 'run_1'
const POLL_MS = 20
const clock = new ManualClock()

/** A run that a test writes itself. */
async function writing(store: Store): Promise<RunWriter> {
  const made = newRun(RUN, clock.iso(), { claim: { worker: 'runWriter', ttlMs: 60_000 } })
  const { stored } = await store.create(made)
  const runWriter = new RunWriter(store, clock, stored, [made.record])
  runWriter.start()
  await runWriter.flush()
  return runWriter
}

async function say(runWriter: RunWriter, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) runWriter.text(text)
  await runWriter.flush()
}

/** Sink that records slices and reports itself full after `room` of them. */
class Listener implements Sink {
  readonly slices: Slice[] = []
  ended: 'finished' | { readonly failed: unknown } | undefined
  /** How many slices it takes before the next `resume`. */
  room = Infinity

  write(slice: Slice): boolean {
    if (this.ended !== undefined) throw new Error('it has ended')
    this.slices.push(slice)
    return --this.room > 0
  }

  finished(): void {
    this.ended = 'finished'
  }

  failed(failed: unknown): void {
    this.ended = { failed }
  }

  get text(): string {
    return this.slices.map(({ bytes }) => new TextDecoder().decode(bytes)).join('')
  }

  get code(): string | undefined {
    const { failed } = this.ended as { readonly failed: unknown }
    return isHoldfastError(failed) ? failed.code : String(failed)
  }
}

function openRegistry(store: Store, limits: Partial<Limits> = {}): SubscriptionRegistry {
  const registry = new SubscriptionRegistry(store, { ...defaultLimits, pollIntervalMs: POLL_MS, ...limits }, clock)
  onTestFinished(() => registry.close())
  return registry
}

/** Long enough for a poll that reads even after hints. */
function polls(): Promise<void> {
  return clock.pass(2 * POLL_MS)
}

/** Expects exactly these records after at most two polls. */
async function expectToHave(listener: Listener, records: readonly string[]): Promise<void> {
  await polls()
  expect(listener.text).toBe(records.join(''))
}

/** A store whose hint listeners are wrapped by `change`. */
function hinting(store: Store, change: (listener: HintListener) => HintListener): Store {
  return overriding(store, { watch: (id, listener) => store.watch(id, change(listener)) })
}

describe('[SUB-2] [LOG-5] a subscription delivers every record after its cursor, once, in order', () => {
  /** Faults of hints: lost, late, duplicated or wrong. */
  const changes: readonly (readonly [string, (store: Store) => Store])[] = [
    ['as they are', (store) => store],
    ['lost', withoutHints],
    ['doubled', (store) => hinting(store, (listener) => (hint) => (listener(hint), listener(hint)))],
    ['late', (store) => hinting(store, (listener) => (hint) => void clock.startTimer(() => listener(hint), 15))],
    [
      'without their records',
      (store) =>
        hinting(
          store,
          (listener) =>
            ({ slice: _slice, ...hint }) =>
              listener(hint),
        ),
    ],
    ['repeated when they are old', (store) => hinting(store, repeating)],
    ['in the wrong order', (store) => hinting(store, reversing)],
    ['with only the first of their records', (store) => hinting(store, shortening)],
    [
      'with only the last of their records',
      (store) => hinting(store, (listener) => (hint) => listener(withLast(hint))),
    ],
    ['every other one lost', (store) => hinting(store, everyOther)],
    [
      'announcing more than there is',
      (store) => hinting(store, (listener) => (hint) => listener({ ...hint, next: 99 })),
    ],
  ]

  test.each(changes)('every record is delivered once with hints %s', async (_, change) => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    await say(runWriter, 'a', 'b')
    const registry = openRegistry(change(store), { maxReadBytes: 300 })
    const listeners = [-1, 0, 1, 2, 3].map((after) => ({ after, listener: new Listener() }))
    for (const { after, listener } of listeners) registry.open(RUN, after, listener)
    await say(runWriter, 'c')
    await say(runWriter, 'd', 'e', 'f')
    await settle()
    await say(runWriter, 'g')
    for (const { after, listener } of listeners) await expectToHave(listener, runWriter.records.slice(after + 1))
    runWriter.complete()
    await runWriter.flush()
    for (const { after, listener } of listeners) {
      await polls()
      expect(listener.text).toBe(runWriter.records.slice(after + 1).join(''))
      expect(listener.ended).toBe('finished')
    }
    expect(registry.size).toBe(0)
  })

  test('a subscription to a finished run delivers the rest and ends', async () => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    await say(runWriter, 'a')
    runWriter.complete()
    await runWriter.flush()
    const registry = openRegistry(store, { maxReadBytes: 1 })
    for (let after = -1; after < runWriter.records.length - 1; after++) {
      const listener = new Listener()
      const subscription = registry.open(RUN, after, listener)
      await settle()
      expect(listener.ended).toBe('finished')
      expect(listener.text).toBe(runWriter.records.slice(after + 1).join(''))
      expect(subscription.cursor).toBe(runWriter.records.length - 1)
    }
  })

  test('subscriptions at the tail share the same bytes', async () => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    const registry = openRegistry(store)
    const [left, right] = [new Listener(), new Listener()]
    for (const listener of [left, right]) registry.open(RUN, 1, listener)
    await settle()
    await say(runWriter, 'a')
    expect(left.slices[0]!.bytes).toBe(right.slices[0]!.bytes)
  })
})

describe('[SUB-1] subscription: a subscriber that does not read', () => {
  test('gets nothing until it has room, and then everything it missed, in pieces', async () => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    const listener = new Listener()
    listener.room = 1
    const subscription = openRegistry(store, { maxReadBytes: 400 }).open(RUN, -1, listener)
    await settle()
    expect(listener.room).toBe(0)
    for (let number = 0; number < 50; number++) await say(runWriter, `[${number}]`)
    await polls()
    expect(listener.slices).toHaveLength(1)
    for (let round = 0; listener.text.length < runWriter.records.join('').length; round++) {
      listener.room = 1
      subscription.resume()
      await settle()
      expect(listener.room).toBe(0)
      expect(round).toBeLessThan(100)
    }
    expect(listener.text).toBe(runWriter.records.join(''))
    expect(Math.max(...listener.slices.map(({ bytes }) => bytes.length))).toBeLessThanOrEqual(400)
  })

  test('has one page read ahead, and none once it has stalled', async () => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    await say(runWriter, 'a', 'b', 'c', 'd')
    const reads: number[] = []
    const counting = overriding(store, {
      read: (id, after, maxBytes) => {
        reads.push(after)
        return store.read(id, after, maxBytes)
      },
    })
    const listener = new Listener()
    listener.room = 1
    const subscription = openRegistry(counting, { maxReadBytes: 1 }).open(RUN, -1, listener)
    await settle()
    expect(reads).toEqual([-1, 0])
    listener.room = 1
    subscription.resume()
    await settle()
    expect(listener.slices.map(({ first }) => first)).toEqual([0, 1])
    expect(reads).toEqual([-1, 0, 1])
    await polls()
    listener.room = 1
    subscription.resume()
    await settle()
    expect(listener.slices.map(({ first }) => first)).toEqual([0, 1, 2])
    expect(reads.slice(3)).toEqual([0, 1, 2]) // the record at the cursor is looked at again after the pause
  })

  test.each([
    ['a fast sink that copies records gets larger pages', true, true, [801, 1600]],
    ['a sink that copies records and is slower than the store gets none', true, false, [1, 400]],
    ['a fast sink that reads every record gets none', false, true, [1, 400]],
  ] as const)('%s', async (_, copiesRecords, isFast, [least, most]) => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    await say(runWriter, ...Array.from({ length: 50 }, (__, number) => `[${number}]`))
    const reading: (() => void)[] = []
    const slow = overriding(store, {
      read: async (id, after, maxBytes) => {
        if (reading.push(() => {}) > 1 && isFast)
          await new Promise<void>((resolve) => (reading[reading.length - 1] = resolve))
        return store.read(id, after, maxBytes)
      },
    })
    const listener = Object.assign(new Listener(), { copiesRecords, room: 1 })
    const subscription = openRegistry(slow, { maxReadBytes: 400 }).open(RUN, -1, listener)
    while (listener.text.length < runWriter.records.join('').length) {
      await settle()
      listener.room = 1
      subscription.resume()
      for (const go of reading) go()
    }
    expect(listener.text).toBe(runWriter.records.join(''))
    const largest = Math.max(...listener.slices.map(({ bytes }) => bytes.length))
    expect(largest).toBeGreaterThanOrEqual(least)
    expect(largest).toBeLessThanOrEqual(most)
  })

  test('delays no other subscriber', async () => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    const registry = openRegistry(store)
    const [stuck, reading] = [new Listener(), new Listener()]
    stuck.room = 1
    registry.open(RUN, -1, stuck)
    registry.open(RUN, -1, reading)
    for (let number = 0; number < 50; number++) await say(runWriter, `[${number}]`)
    await expectToHave(reading, runWriter.records)
    expect(stuck.slices).toHaveLength(1)
  })

  test('gets nothing while its sink is full, also from hints', async () => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    const listener = new Listener()
    const subscription = openRegistry(store).open(RUN, 1, listener)
    await settle()
    listener.room = 1
    await say(runWriter, 'a')
    await say(runWriter, 'b')
    expect(listener.slices).toHaveLength(1)
    listener.room = 9
    subscription.resume()
    subscription.resume()
    await expectToHave(listener, runWriter.records.slice(2))
  })

  test('a subscriber that throws loses its own stream and no other', async () => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    const registry = openRegistry(store, { pollIntervalMs: 60_000 })
    const broken = new Listener()
    const working = new Listener()
    registry.open(RUN, 1, broken)
    registry.open(RUN, 1, working)
    await settle()
    broken.write = () => {
      throw new Error('the socket is gone')
    }
    await say(runWriter, 'a')
    expect(working.text).toBe(runWriter.records.slice(2).join(''))
    await settle()
    expect(broken.code).toBe('Error: the socket is gone')
    expect(registry.size).toBe(1)
  })
})

/** A listener that took one record of a finished run and has no room for the rest. */
async function stalled(): Promise<{
  store: Store
  runWriter: RunWriter
  listener: Listener
  subscription: Subscription
}> {
  const store = createMemoryStore({ clock })
  const runWriter = await writing(store)
  await say(runWriter, 'a', 'b')
  runWriter.complete()
  await runWriter.flush()
  const listener = new Listener()
  listener.room = 1
  const subscription = openRegistry(store, { maxReadBytes: 1 }).open(RUN, -1, listener)
  await polls() // drops its read-ahead
  expect(listener.room).toBe(0)
  return { store, runWriter, listener, subscription }
}

describe('[SUB-2] [SUB-3] a subscription that cannot continue fails with the reason', () => {
  test('trimmed events end the subscription with cursor_expired', async () => {
    const { store, listener, subscription } = await stalled()
    await store.trim(RUN, 3)
    subscription.resume()
    await settle()
    expect(listener.code).toBe('cursor_expired')
    expect(listener.slices).toHaveLength(1)
  })

  test('a removed run ends the subscription with not_found', async () => {
    const { store, listener, subscription } = await stalled()
    await store.remove(RUN)
    subscription.resume()
    await settle()
    expect(listener.code).toBe('not_found')
  })

  test('a run that ended and was removed without a hint ends the subscription with not_found', async () => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    const listener = new Listener()
    const registry = openRegistry(withoutHints(store))
    registry.open(RUN, -1, listener)
    await expectToHave(listener, runWriter.records)
    runWriter.complete()
    await runWriter.flush()
    await store.remove(RUN)
    await polls()
    expect(listener.code).toBe('not_found')
    expect(registry.size).toBe(0)
  })

  test('a store that cannot be read ends the subscription with its error', async () => {
    const store = createMemoryStore({ clock })
    await writing(store)
    const listener = new Listener()
    const failing = overriding(store, { read: () => Promise.reject(new Error('the disk is gone')) })
    openRegistry(failing).open(RUN, -1, listener)
    await settle()
    expect(listener.code).toBe('Error: the disk is gone')
  })

  test('a subscription continues after the store was unavailable for a while', async () => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    let failures = 3
    const failing = overriding(withoutHints(store), {
      get: (id) => (failures-- > 0 ? Promise.reject(new Error('not now')) : store.get(id)),
    })
    const listener = new Listener()
    openRegistry(failing).open(RUN, 1, listener)
    await settle()
    await say(runWriter, 'a')
    await clock.pass(3 * POLL_MS)
    expect(listener.text).toBe('')
    await clock.pass(POLL_MS)
    expect(listener.text).toBe(runWriter.records.slice(2).join(''))
  })
})

describe('subscription: a closed subscription', () => {
  test('gets nothing more, also from a read in progress', async () => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    const reads = Promise.withResolvers<void>()
    const slow = overriding(store, { read: async (...parameters) => (await reads.promise, store.read(...parameters)) })
    const listener = new Listener()
    const registry = openRegistry(slow)
    const subscription = registry.open(RUN, -1, listener)
    subscription.close()
    subscription.close()
    reads.resolve()
    await say(runWriter, 'a')
    subscription.resume()
    await polls()
    expect(listener).toMatchObject({ slices: [], ended: undefined })
    expect(registry.size).toBe(0)
  })

  test('a subscription that its listener closes during delivery gets nothing more', async () => {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    await say(runWriter, 'a', 'b')
    const listener = new Listener()
    const subscription = openRegistry(store, { maxReadBytes: 1 }).open(RUN, -1, listener)
    const write = listener.write.bind(listener)
    listener.write = (slice) => (subscription.close(), write(slice))
    await polls()
    expect(listener.slices).toHaveLength(1)
    expect(listener.ended).toBeUndefined()
  })

  test('stops watching the run if it was the last one', async () => {
    const store = createMemoryStore({ clock })
    await writing(store)
    let watches = 0
    const counting = overriding(store, {
      watch(id, listener) {
        const unwatch = store.watch(id, listener)
        watches += 1
        return () => (unwatch(), (watches -= 1))
      },
    })
    const registry = openRegistry(counting)
    const subscriptions = [1, 2, 3].map(() => registry.open(RUN, -1, new Listener()))
    expect(watches).toBe(1)
    for (const subscription of subscriptions) subscription.close()
    expect(watches).toBe(0)
    registry.open(RUN, -1, new Listener())
    expect(watches).toBe(1)
  })

  test('makes room for another, up to the limit per run', async () => {
    const store = createMemoryStore({ clock })
    await writing(store)
    const registry = openRegistry(store, { maxSubscribersPerRun: 2 })
    const [first] = [1, 2].map(() => registry.open(RUN, -1, new Listener()))
    const refused = (): Subscription => registry.open(RUN, -1, new Listener())
    expect(refused).toThrow(`run ${RUN} has 2 subscribers on this node`)
    expect(codeOf(refused)).toBe('rate_limited')
    expect(registry.size).toBe(2)
    first!.close()
    registry.open(RUN, -1, new Listener())
    expect(registry.size).toBe(2)
  })
})

describe('[SUB-2] the service rejects a cursor', () => {
  const component = subject(async function* () {
    yield 'a'
  })

  test.each([
    ['beyond the end', 4, 'cursor_invalid'],
    ['far beyond the end', 1_000_000, 'cursor_invalid'],
    ['before what was trimmed', 0, 'cursor_expired'],
    ['before the beginning of what was trimmed', -1, 'cursor_expired'],
  ])('a cursor that is %s is rejected', async (_, after, code) => {
    const node = openNode({ components: [component] })
    const id = await node.start('subject')
    await node.ended(id)
    await node.store.trim(id, 3)
    const listener = new Listener()
    await expect(node.service.subscribe(localPrincipal, id, after, listener)).rejects.toMatchObject({ code })
    await expect(node.service.read(localPrincipal, id, after)).rejects.toMatchObject({ code })
    await expect(node.service.subscribe(localPrincipal, id, 2, listener)).resolves.toBeDefined()
  })

  test('[SEC-1] a cursor in another principal’s run is rejected as if there were no such run', async () => {
    const node = openNode({ components: [component] })
    const id = await node.start('subject')
    const refused = { code: 'not_found', message: `run ${id} not found` }
    await expect(node.service.subscribe({ id: 'ann' }, id, -1, new Listener())).rejects.toMatchObject(refused)
    await expect(node.service.read({ id: 'ann' }, id, -1)).rejects.toMatchObject(refused)
  })
})

test('subscriptions: lag is that of the slowest one, and 0 when all are caught up', async () => {
  const store = createMemoryStore({ clock })
  const runWriter = await writing(store)
  const registry = openRegistry(store)
  expect(registry.lag).toBe(0)
  const [quick, slow] = [new Listener(), new Listener()]
  slow.room = 1
  registry.open(RUN, -1, quick)
  const held = registry.open(RUN, -1, slow)
  await expectToHave(slow, runWriter.records)
  await say(runWriter, 'a', 'b', 'c')
  await expectToHave(quick, runWriter.records)
  expect(registry.lag).toBe(3)
  slow.room = Infinity
  held.resume()
  await expectToHave(slow, runWriter.records)
  expect(registry.lag).toBe(0)
  slow.room = 1
  await say(runWriter, 'd')
  await say(runWriter, 'e')
  await settle()
  expect(registry.lag).toBe(1)
  held.close()
  expect(registry.lag).toBe(0)
})

describe('subscription: waitForMore', () => {
  const hangs = subject(async function* (_, context) {
    yield String(await context.ask('Go on?'))
  })

  test('resolves when there is a new event, when there is none in time, and when the run has ended', async () => {
    const node = openNode({ components: [hangs], clock })
    const id = await node.start('subject')
    const { next } = await node.reached(id, 'paused')
    const never = new AbortController().signal
    const waiting = node.service.waitForMore(localPrincipal, id, next - 1, 5000, never)
    expect(await node.service.waitForMore(localPrincipal, id, next - 2, 5000, never)).toBe(true)
    const brief = node.service.waitForMore(localPrincipal, id, next - 1, 10, never)
    await clock.pass(10)
    expect(await brief).toBe(false)
    await node.answer(id, { question: 1 })
    expect(await waiting).toBe(true)
    expect(node.service.health().subscribers).toBe(0)
  })

  test('ends when its signal is aborted, also if that was before the call', async () => {
    const node = openNode({ components: [hangs] })
    const id = await node.start('subject')
    const { next } = await node.reached(id, 'paused')
    const leaving = new AbortController()
    const waiting = node.service.waitForMore(localPrincipal, id, next - 1, 60_000, leaving.signal)
    await settle()
    leaving.abort()
    expect(await waiting).toBe(false)
    const late = node.service.waitForMore(localPrincipal, id, next - 1, 60_000, leaving.signal)
    expect(await late).toBe(false)
    expect(node.service.health().subscribers).toBe(0)
  })
})

test('subscriptions: a store that has not responded to the last poll is not polled again', async () => {
  const store = createMemoryStore({ clock })
  let asked = 0
  let answer = Promise.withResolvers<void>()
  const slow = overriding(store, {
    get: async (id) => {
      asked++
      await answer.promise
      return store.get(id)
    },
  })
  await writing(store)
  openRegistry(slow).open(RUN, 1, new Listener())
  for (const polled of [1, 2, 3]) {
    await clock.pass(3 * POLL_MS)
    expect(asked).toBe(polled)
    answer.resolve()
    answer = Promise.withResolvers()
    await settle()
  }
})

function repeating(listener: HintListener): HintListener {
  const old: Hint[] = []
  return (hint) => {
    old.push(hint)
    for (const each of old.toReversed()) listener(each)
  }
}

/** Delivers the hints of one tick in reverse order. */
function reversing(listener: HintListener): HintListener {
  let tick: Hint[] = []
  return (hint) => {
    tick.push(hint)
    if (tick.length > 1) return
    clock.startTimer(() => {
      for (const each of tick.toReversed()) listener(each)
      tick = []
    }, 2)
  }
}

function everyOther(listener: HintListener): HintListener {
  let count = 0
  return (hint) => (count++ % 2 === 0 ? undefined : listener(hint))
}

function shortening(listener: HintListener): HintListener {
  return (hint) => listener(hint.slice ? { ...hint, slice: sliceBefore(hint.slice, hint.slice.first + 1) } : hint)
}

function withLast(hint: Hint): Hint {
  const { slice } = hint
  return slice && slice.count > 1 ? { ...hint, slice: sliceAfter(slice, slice.first + slice.count - 2) } : hint
}

function codeOf(act: () => unknown): string | undefined {
  try {
    act()
  } catch (thrown) {
    return isHoldfastError(thrown) ? thrown.code : undefined
  }
  return undefined
}

/** Sends a slice in parts. */
class PartListener extends Listener {
  hasUnsent = false

  override write(slice: Slice): boolean {
    super.write(slice)
    this.hasUnsent = slice.closed
    return !slice.closed
  }
}

describe('[SUB-1] a subscription of a sink that sends the terminal event in parts', () => {
  async function openEnded(): Promise<{ readonly listener: PartListener; readonly subscription: Subscription }> {
    const store = createMemoryStore({ clock })
    const runWriter = await writing(store)
    runWriter.complete()
    await runWriter.flush()
    const listener = new PartListener()
    const subscription = openRegistry(store).open(RUN, -1, listener)
    await polls()
    expect(listener.hasUnsent).toBe(true)
    return { listener, subscription }
  }

  test('ends when the last part is sent', async () => {
    const { listener, subscription } = await openEnded()
    expect([listener.ended, subscription.isClosed]).toEqual([undefined, false])
    listener.hasUnsent = false
    subscription.resume()
    expect([listener.ended, subscription.isClosed]).toEqual(['finished', true])
  })

  test('can be ended before, as by the end of a credential', async () => {
    const { listener, subscription } = await openEnded()
    subscription.fail(new Error('revoked'))
    expect(listener.code).toContain('revoked')
    expect(subscription.isClosed).toBe(true)
  })
})
