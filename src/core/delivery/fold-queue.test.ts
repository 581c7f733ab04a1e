import { describe, expect, test } from 'vitest'
import { isHoldfastError } from '../model/errors.ts'
import { defaultLimits, type Limits } from '../model/limits.ts'
import { localOwner } from '../model/principal.ts'
import { type Fold, FoldQueue } from './fold-queue.ts'
import { ViewMemory } from './view-memory.ts'

class ManualTimers {
  readonly #acts = new Set<() => void>()

  readonly startTimer = (act: () => void): (() => void) => {
    this.#acts.add(act)
    return () => this.#acts.delete(act)
  }

  get running(): number {
    return this.#acts.size
  }

  fire(): void {
    for (const act of this.#acts) act()
    this.#acts.clear()
  }
}

function queueWith(limits: Partial<Limits>) {
  const bounds = { ...defaultLimits, retryDelayMs: 1000, ...limits }
  const timers = new ManualTimers()
  return { queue: new FoldQueue(bounds, new ViewMemory(bounds), timers), timers }
}

/** A fold that has read its first page. */
function proceed(queue: FoldQueue, owner: string, log: string[] = []): { fold: Fold; proceeds: Promise<void> } {
  const fold = queue.begin(owner)
  const proceeds = fold.proceed().then(() => void log.push(owner))
  proceeds.catch(() => {})
  return { fold, proceeds }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

async function refusalOf(proceeds: Promise<void>): Promise<{ code: string; retryAfterMs: number | undefined }> {
  const cause: unknown = await proceeds.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!isHoldfastError(cause)) throw new Error('it was not refused', { cause })
  return { code: cause.code, retryAfterMs: cause.retryAfterMs }
}

describe('folds of long logs', () => {
  test('[SEC-2] one owner has half of the slots, and others start while its folds wait', async () => {
    const { queue } = queueWith({ maxConcurrentFolds: 4 })
    const log: string[] = []
    for (let count = 0; count < 10; count++) proceed(queue, 'anna', log)
    await settled()
    expect(log).toEqual(['anna', 'anna'])
    proceed(queue, 'bert', log)
    await settled()
    expect(log).toEqual(['anna', 'anna', 'bert'])
    expect(queue).toMatchObject({ active: 3, queued: 8 })
  })

  test('[SEC-2] waiting folds start round-robin between owners', async () => {
    const { queue } = queueWith({ maxConcurrentFolds: 2 })
    const log: string[] = []
    const first = [proceed(queue, 'zoe', log), proceed(queue, 'yves', log)]
    for (let count = 0; count < 3; count++) proceed(queue, 'anna', log)
    for (let count = 0; count < 3; count++) proceed(queue, 'bert', log)
    for (const { fold } of first) fold.end()
    await settled()
    expect(log.slice(2)).toEqual(['anna', 'bert'])
  })

  test('without authentication all callers are one owner, which may use all slots', async () => {
    const { queue } = queueWith({ maxConcurrentFolds: 4 })
    for (let count = 0; count < 10; count++) proceed(queue, localOwner)
    await settled()
    expect(queue).toMatchObject({ active: 4, queued: 6 })
  })

  test('[SEC-2] an owner that fills its half of the queue is rate limited, and another still finds room', async () => {
    const { queue } = queueWith({ maxConcurrentFolds: 2, maxQueuedFolds: 4 })
    for (let count = 0; count < 3; count++) proceed(queue, 'anna')
    expect(await refusalOf(proceed(queue, 'anna').proceeds)).toEqual({ code: 'rate_limited', retryAfterMs: 1000 })
    proceed(queue, 'bert')
    proceed(queue, 'bert')
    await settled()
    expect(queue).toMatchObject({ active: 2, queued: 3 })
  })

  test('[SEC-2] a full queue refuses with unavailable', async () => {
    const { queue } = queueWith({ maxConcurrentFolds: 2, maxQueuedFolds: 2 })
    for (const owner of ['anna', 'anna', 'bert', 'bert']) proceed(queue, owner)
    expect(await refusalOf(proceed(queue, 'carl').proceeds)).toEqual({ code: 'unavailable', retryAfterMs: 1000 })
  })

  test('[SEC-2] a fold that waits too long is refused, and takes no slot later', async () => {
    const { queue, timers } = queueWith({ maxConcurrentFolds: 2 })
    const first = proceed(queue, 'anna')
    const second = proceed(queue, 'anna')
    await settled()
    timers.fire()
    expect(await refusalOf(second.proceeds)).toEqual({ code: 'unavailable', retryAfterMs: 1000 })
    second.fold.end()
    first.fold.end()
    expect(queue).toMatchObject({ active: 0, queued: 0 })
  })

  test('a fold that starts stops its timer, and one that pauses passes its slot to the next', async () => {
    const { queue, timers } = queueWith({ maxConcurrentFolds: 2 })
    const first = proceed(queue, 'anna')
    const second = proceed(queue, 'anna')
    await settled()
    expect(timers.running).toBe(1)
    first.fold.pause()
    first.fold.pause()
    await second.proceeds
    expect(timers.running).toBe(0)
    first.fold.end()
    second.fold.end()
    expect(queue).toMatchObject({ active: 0, queued: 0 })
  })
})
