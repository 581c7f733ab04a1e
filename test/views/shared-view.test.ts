/** Shared views against plain folds: with any cache state, each subscriber gets the tail of the full stream. */
import { type Encoded, textsOf } from '../../src/core/delivery/encoded.ts'
import { describe, expect, test } from 'vitest'
import { SubscriptionRegistry } from '../../src/core/delivery/subscription-registry.ts'
import type { Sink, Subscription } from '../../src/core/delivery/subscription.ts'
import type { Checkpoint, SharedView } from '../../src/core/delivery/shared-view.ts'
import { ViewCache } from '../../src/core/delivery/view-cache.ts'
import { defaultLimits, type Limits } from '../../src/core/model/limits.ts'
import { lastOf, recordsOf, type Slice, sliceAfter, sliceBefore } from '../../src/core/model/slice.ts'
import type { Store, StoredRun } from '../../src/core/ports/store.ts'
import { encodeSelected, ViewCursor } from '../../src/http/response/view.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { overriding } from '../../src/testing/broken-stores.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'
import { readLogs } from '../golden/log-file.ts'
import { Random } from '../support/random.ts'
import { until } from '../support/until.ts'
import { withSeed } from '../support/with-seed.ts'
import { testedViews, type TestedView } from './kinds.ts'
import { randomEvents } from './random-log.ts'

/** Twelve checkpoints. Resuming after every position costs the square. */
const EVENTS = 400
const TRIMMED_EVENTS = 175
const LONG_EVENTS = 3500

interface World {
  readonly store: Store
  readonly views: ViewCache
  readonly stored: StoredRun
}

/** A run with these events in its log. */
async function worldOf(events: ReturnType<typeof randomEvents>, limits: Partial<Limits> = {}): Promise<World> {
  const clock = createFakeClock()
  const store = createMemoryStore({ clock })
  const writer = await writerOn(store, clock)
  for (const event of events) {
    clock.advance(7)
    writer.append(event)
  }
  await writer.flush()
  return { store, views: new ViewCache(store, limitsWith(limits)), stored: (await store.get('run_x'))! }
}

async function writerOn(store: Store, clock: ReturnType<typeof createFakeClock>): Promise<RunWriter> {
  const fresh = newRun('run_x', clock.iso(), { claim: { worker: 'test', ttlMs: 1e9 } })
  const { stored } = await store.create(fresh)
  return new RunWriter(store, clock, stored, [fresh.record])
}

function limitsWith(limits: Partial<Limits>): Limits {
  return { ...defaultLimits, maxReadBytes: 4096, ...limits }
}

interface Uncut {
  readonly frames: readonly unknown[]
  readonly texts: readonly string[]
  readonly states: readonly unknown[]
}

/** The fold of a whole log, without any view. */
async function foldAll({ store, stored }: World, { kind, wire }: TestedView): Promise<Uncut> {
  const states: unknown[] = []
  const frames: unknown[] = []
  let state = kind.projection.initial(stored.run)
  for await (const slice of slicesOf(store, stored, stored.first - 1)) {
    for (const { event } of recordsOf(slice)) {
      const projected = kind.projection.apply(state, event)
      state = projected.state
      states.push(state)
      frames.push(...projected.frames)
    }
  }
  return { frames, texts: frames.map((frame) => wire.encode(frame)), states }
}

async function* slicesOf(store: Store, { run, next }: StoredRun, after: number): AsyncGenerator<Slice> {
  for (let at = after; at < next - 1;) {
    const slice = (await store.read(run.id, at, 4096))!
    yield slice
    at = lastOf(slice)
  }
}

/** What a subscriber gets that has the frames up to a position. */
async function resumed(world: World, tested: TestedView, view: SharedView<unknown, unknown>, has: number) {
  const { kind, wire, positionOf } = tested
  const end = await view.current(world.stored.next)
  const from = view.nearest({ event: end.index, frame: has + 1 })
  expect(kind.position(from.state)).toBeLessThanOrEqual(has + 1)
  const cursor = new ViewCursor({ view, from, isNeeded: (frame) => positionOf!(frame) > has, ends: () => false })
  let text = ''
  for await (const slice of slicesOf(world.store, world.stored, from.index))
    text += textOf(encodeSelected(wire, cursor.take(slice)))
  return text
}

function textOf(encoded: Encoded): string {
  return [...textsOf(encoded)].join('')
}

describe.each(testedViews.map((tested) => [tested.name, tested] as const))('a shared view of %s', (_, tested) => {
  test('[LOG-5] resumes after every position with the tail of the uncut stream, also while checkpoints are evicted', () =>
    withSeed(async (random) => {
      const world = await worldOf(randomEvents(random, 'run_x', EVENTS))
      const { frames, texts } = await foldAll(world, tested)
      const positions = tested.positionOf === undefined ? [-1] : frames.map(tested.positionOf).filter(Number.isFinite)
      const view = world.views.open(world.stored, tested.kind)
      for (const has of positions) {
        if (random.chance(0.05)) view.forget()
        const first = tested.positionOf === undefined ? 0 : frames.findIndex((frame) => tested.positionOf!(frame) > has)
        const tail = first < 0 ? '' : texts.slice(first).join('')
        const from = tested.positionOf === undefined ? await replayed(world, tested, view) : undefined
        expect(from ?? (await resumed(world, tested, view, has)), `after ${has}`).toBe(tail)
      }
      expect(view.checkpoints).toBeLessThan(40)
    }))

  test('[LOG-5] resumes after every position of a trimmed log with the tail of its uncut stream', () =>
    withSeed(async (random) => {
      const whole = await worldOf(randomEvents(random, 'run_x', TRIMMED_EVENTS))
      await whole.store.trim('run_x', random.between(1, whole.stored.next - 10))
      const world = { ...whole, stored: (await whole.store.get('run_x'))! }
      const { frames, texts } = await foldAll(world, tested)
      const view = world.views.open(world.stored, tested.kind)
      expect(view.start.index).toBe(world.stored.first - 1)
      expect(await replayed(world, tested, view)).toBe(texts.join(''))
      for (const has of frames.map((frame) => tested.positionOf?.(frame)).filter(Number.isFinite)) {
        if (random.chance(0.1)) view.forget()
        const first = frames.findIndex((frame) => tested.positionOf!(frame) > has!)
        const tail = first < 0 ? '' : texts.slice(first).join('')
        expect(await resumed(world, tested, view, has!), `after ${has}`).toBe(tail)
      }
    }))

  test('a state folded on from any checkpoint equals the one folded from the first event', () =>
    withSeed(async (random) => {
      const world = await worldOf(randomEvents(random, 'run_x', EVENTS))
      const { states } = await foldAll(world, tested)
      const view = world.views.open(world.stored, tested.kind)
      await view.current(world.stored.next)
      const seen = new Set<Checkpoint<unknown>>()
      for (let event = 0; event <= world.stored.next; event++) seen.add(view.nearest({ event }))
      expect(seen.size).toBeGreaterThan(5)
      for (const checkpoint of seen) {
        expect(checkpoint.state).toEqual(checkpoint === view.start ? view.start.state : states[checkpoint.index])
        let last = checkpoint
        for await (const step of view.steps(checkpoint)) last = step.after
        expect(last.state).toEqual(states.at(-1))
      }
    }))

  test('the projection does not mutate the state that it is given', () =>
    withSeed(async (random) => {
      const logs = readLogs().map(({ events }) => events)
      for (const events of [...logs, randomEvents(random, 'run_x', EVENTS)]) {
        const run = newRun('run_x', new Date(0).toISOString()).run
        let state = frozen(tested.kind.projection.initial(run))
        for (const [index, event] of events.entries()) {
          const logged = { ...event, run: run.id, index: index + 1, time: run.createdAt }
          state = frozen(tested.kind.projection.apply(state, frozen(logged)).state)
        }
        expect(Object.isFrozen(state)).toBe(true)
      }
    }))
})

/** The whole stream by a new subscriber. */
async function replayed({ store, stored }: World, { wire }: TestedView, view: SharedView<unknown, unknown>) {
  const cursor = new ViewCursor({ view, ends: () => false })
  let text = ''
  for await (const slice of slicesOf(store, stored, cursor.at.index))
    text += textOf(encodeSelected(wire, cursor.take(slice)))
  return text
}

const SETTERS = ['set', 'delete', 'clear'] as const

function refuseChange(): never {
  throw new Error('a map of a state was changed')
}

/** Throws when anything in it is changed. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (value instanceof Map) {
    for (const setter of SETTERS) Object.defineProperty(value, setter, { value: () => refuseChange() })
    for (const entry of value.values()) frozen(entry)
  }
  Object.freeze(value)
  for (const inner of Object.values(value)) frozen(inner)
  return value
}

const SUBSCRIBERS = 1000
const LIVE_EVENTS = 400

test('[SUB-1] [LOG-5] 1,000 subscribers that join and leave at random get their exact tails while checkpoints are evicted', () =>
  withSeed(async (random, progress) => {
    const clock = createFakeClock()
    const store = createMemoryStore({ clock })
    // A few views of this log fit, not all of them.
    const limits = limitsWith({ maxViewCacheBytes: 400_000 })
    const views = new ViewCache(store, limits)
    const registry = new SubscriptionRegistry(store, limits, clock)
    const writer = await writerOn(store, clock)
    const subscribers: Subscriber[] = []
    for (const event of randomEvents(random, 'run_x', LIVE_EVENTS)) {
      clock.advance(7)
      writer.append(event)
      await writer.flush()
      const stored = (await store.get('run_x'))!
      while (subscribers.length < (SUBSCRIBERS * writer.writer.next) / LIVE_EVENTS && !stored.run.finishedAt)
        subscribers.push(await Subscriber.join(views, registry, stored, random))
      for (const subscriber of subscribers) subscriber.act(random)
      expect(views.bytes).toBeLessThanOrEqual(limits.maxViewCacheBytes)
    }
    progress['subscribers'] = subscribers.length
    for (const subscriber of subscribers) subscriber.read()
    await until('all have read to the end', () => subscribers.every(({ closed }) => closed))
    registry.close()
    const world = { store, views, stored: (await store.get('run_x'))! }
    const wholes = new Map(
      await Promise.all(testedViews.map(async (each) => [each, await foldAll(world, each)] as const)),
    )
    for (const { tested, has, text, left } of subscribers) {
      const { frames, texts } = wholes.get(tested)!
      const first = has < 0 ? 0 : frames.findIndex((frame) => tested.positionOf!(frame) > has)
      const tail = first < 0 ? '' : texts.slice(first).join('')
      expect(left ? tail.startsWith(text) : text === tail, `${tested.name} after ${has}`).toBe(true)
    }
  }))

/** Follows a view from a random position; stalls and leaves at random. */
class Subscriber implements Sink {
  readonly tested: TestedView
  readonly has: number
  text = ''
  left = false
  closed = false
  readonly #cursor: ViewCursor<unknown, unknown>
  #subscription: Subscription | undefined
  #stalled = false

  private constructor(tested: TestedView, has: number, view: SharedView<unknown, unknown>, from: Checkpoint<unknown>) {
    this.tested = tested
    this.has = has
    const needed = has < 0 ? {} : { isNeeded: (frame: unknown) => tested.positionOf!(frame) > has }
    this.#cursor = new ViewCursor({ view, from, ...needed, ends: () => false })
  }

  static async join(
    views: ViewCache,
    registry: SubscriptionRegistry,
    stored: StoredRun,
    random: Random,
  ): Promise<Subscriber> {
    const tested = random.pick(testedViews)
    const view = views.open(stored, tested.kind)
    const end = await view.current(stored.next)
    const has = random.between(-1, tested.countOf(end.state) - 1)
    const from = has < 0 ? view.start : view.nearest({ event: end.index, frame: has + 1 })
    const subscriber = new Subscriber(tested, has, view, from)
    subscriber.#subscription = registry.open(stored.run.id, from.index, subscriber)
    return subscriber
  }

  act(random: Random): void {
    if (random.chance(0.05)) this.#stalled = true
    else if (random.chance(0.2)) this.read()
    if (random.chance(0.001) && !this.closed) {
      this.left = true
      this.closed = true
      this.#subscription?.close()
    }
  }

  read(): void {
    this.#stalled = false
    if (!this.closed) this.#subscription?.resume()
  }

  write(slice: Slice): boolean {
    this.text += textOf(encodeSelected(this.tested.wire, this.#cursor.take(slice)))
    return !this.#stalled
  }

  finished(): void {
    this.closed = true
  }

  failed(cause: unknown): void {
    throw cause
  }
}

describe('a shared view', () => {
  const [tested] = testedViews as [TestedView]

  test('is built once for all who ask at the same time', async () => {
    const world = await worldOf(randomEvents(new Random(1), 'run_x', EVENTS))
    let reads = 0
    const counting = overriding(world.store, { read: (...asked) => (reads++, world.store.read(...asked)) })
    const read = async (asking: number): Promise<number> => {
      reads = 0
      const view = new ViewCache(counting, limitsWith({})).open(world.stored, tested.kind)
      await Promise.all(Array.from({ length: asking }, () => view.current(world.stored.next)))
      return reads
    }
    expect(await read(100)).toBe(await read(1))
  })

  test('a resume near the end reads and folds what is near the end', async () => {
    const world = await worldOf(randomEvents(new Random(1), 'run_x', LONG_EVENTS))
    const view = world.views.open(world.stored, tested.kind)
    const end = await view.current(world.stored.next)
    for (const missed of [1, 10, 100, 1000]) {
      const from = view.nearest({ event: end.index - missed })
      expect(end.index - from.index, `after a miss of ${missed}`).toBeLessThan(3 * missed + 100)
    }
  })

  /** A view of a run whose store then fails over to a replica with a different log. */
  async function replaced(oldEvents: number, newEvents: number) {
    const clock = createFakeClock()
    const textsOn = async (store: Store, what: string, count: number): Promise<Store> => {
      const writer = await writerOn(store, clock)
      for (let at = 0; at < count; at++) writer.text(`${what} ${at} `)
      await writer.flush()
      return store
    }
    const store = await textsOn(createMemoryStore({ clock }), 'old', oldEvents)
    const views = new ViewCache(store, limitsWith({}))
    const view = views.open((await store.get('run_x'))!, tested.kind)
    const old = await view.current(oldEvents + 1)
    const other = await textsOn(createMemoryStore({ clock }), 'new', newEvents)
    Object.assign(store, { read: other.read.bind(other) })
    const stored = (await other.get('run_x'))!
    const plain = await foldAll({ store: other, views, stored }, tested)
    return { view, old, stored, other, whole: plain.states.at(-1) }
  }

  test('[SUB-2] a view of a log that lost its end is folded again from the history that the log has', async () => {
    const { view, old, stored, whole } = await replaced(200, 150)
    const now = await view.current(stored.next)
    expect(now.index).toBe(150)
    expect(now.state).not.toEqual(old.state)
    expect(now.state).toEqual(whole)
  })

  test('[SUB-2] what a subscriber of the lost history folds is not the view of the others', async () => {
    const { view, old, stored, other, whole } = await replaced(100, 150)
    await view.verify()
    const all = (await other.read('run_x', view.start.index, 1e6))!
    const rest = sliceAfter(all, old.index)
    const { after } = view.step(view.start, sliceBefore(all, old.index + 1))
    view.forget()
    // In one tick of the event loop, with the same slice.
    expect(view.step(old, rest).after.state).not.toEqual(whole)
    expect(view.step(after, rest).after.state).toEqual(whole)
    expect((await view.current(stored.next)).state).toEqual(whole)
  })

  test('a view of a log that became shorter than the caller knows is read to the end that the log has', async () => {
    const world = await worldOf(randomEvents(new Random(1), 'run_x', EVENTS))
    const view = world.views.open(world.stored, tested.kind)
    const asked = [world.stored.next + 100, world.stored.next + 200].map((next) => view.current(next))
    expect((await Promise.all(asked)).map(({ index }) => index)).toEqual([world.stored.next - 1, world.stored.next - 1])
  })

  test('a view of a log that does not fit the memory for views is rejected, not folded', async () => {
    const world = await worldOf(randomEvents(new Random(1), 'run_x', EVENTS))
    const limits = limitsWith({ maxViewCacheBytes: 20_000, maxUnstreamedLogBytes: 20_000 })
    const view = new ViewCache(world.store, limits).open(world.stored, tested.kind)
    await expect(view.current(world.stored.next)).rejects.toMatchObject({ code: 'too_large' })
  })

  test('the view of a removed run is dropped at once', async () => {
    const world = await worldOf(randomEvents(new Random(1), 'run_x', EVENTS))
    const view = world.views.open(world.stored, tested.kind)
    await view.current(world.stored.next)
    world.views.drop(({ id }) => id === 'run_y')
    expect(view.checkpoints).toBeGreaterThan(0)
    world.views.drop(({ id }) => id === 'run_x')
    expect(view.checkpoints).toBe(0)
    expect(world.views.bytes).toBe(0)
  })

  test('is evicted when others are used, and no view keeps more than the limit', async () => {
    const events = randomEvents(new Random(3), 'run_x', EVENTS)
    const { store, stored } = await worldOf(events)
    const all = new ViewCache(store, limitsWith({}))
    await all.open(stored, tested.kind).current(stored.next)
    const views = new ViewCache(store, limitsWith({ maxViewCacheBytes: 1.5 * all.bytes }))
    const [first, second] = testedViews.map(({ kind }) => views.open(stored, kind))
    await first!.current(stored.next)
    expect(first!.checkpoints).toBeGreaterThan(0)
    await second!.current(stored.next)
    expect(first!.checkpoints).toBe(0)
    const tiny = new ViewCache(store, limitsWith({ maxViewCacheBytes: 10_000 }))
    const large = tiny.open(stored, tested.kind)
    expect((await large.current(stored.next)).index).toBe(stored.next - 1)
    expect(large.checkpoints).toBe(0)
    expect(tiny.bytes).toBeLessThanOrEqual(10_000)
  })
})
