/** Delays between the client's retries, on a manual clock. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Backoff } from './backoff.ts'
import { ApiError, ConnectionError } from './errors.ts'

const RETRY_MS = 500

beforeEach(() => {
  vi.useFakeTimers()
  vi.spyOn(Math, 'random').mockReturnValue(1 - Number.EPSILON) // the longest delay that jitter allows
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

/** Tries until the server is back; resolves with when the try was made that found it. */
async function triesUntil(backAt: number, backoff: Backoff): Promise<number> {
  while (Date.now() < backAt) await backoff.pause(new ConnectionError('away'), undefined)
  return Date.now()
}

test.each([1, 20, 32, 62, 110])(
  'client: a server that was down for %d s is found at most ten seconds after it is back',
  async (seconds) => {
    const backAt = Date.now() + seconds * 1000
    const found = triesUntil(backAt, new Backoff(50, RETRY_MS))
    await vi.runAllTimersAsync()
    expect((await found) - backAt).toBeLessThanOrEqual(10_000)
  },
)

test('client: retries are bounded while a server is down for an hour', async () => {
  const backoff = new Backoff(1000, RETRY_MS)
  const pause = vi.spyOn(backoff, 'pause')
  const found = triesUntil(Date.now() + 3_600_000, backoff)
  await vi.runAllTimersAsync()
  await found
  expect(pause.mock.calls.length).toBeLessThan(370)
})

/** A window that dispatches the test's events. */
function stubWindow(): EventTarget & { visibilityState: string } {
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' })
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
  vi.stubGlobal('document', page)
  return page
}

async function failOften(backoff: Backoff): Promise<void> {
  for (let failure = 0; failure < 8; failure++) {
    const pause = backoff.pause(new ConnectionError('away'), undefined)
    await vi.runAllTimersAsync()
    await pause
  }
}

test.each(['online', 'visibilitychange'])('client: the browser event %s ends a long delay', async (event) => {
  const page = stubWindow()
  const backoff = new Backoff(50, RETRY_MS)
  await failOften(backoff)
  let isOver = false
  void backoff.pause(new ConnectionError('away'), undefined).then(() => (isOver = true))
  await vi.advanceTimersByTimeAsync(2 * RETRY_MS)
  expect(isOver).toBe(false)
  page.dispatchEvent(new Event(event))
  await vi.advanceTimersByTimeAsync(0)
  expect(isOver).toBe(true)
})

test('client: a flapping network does not cause retries without delay', async () => {
  const page = stubWindow()
  const backoff = new Backoff(50, RETRY_MS)
  await failOften(backoff)
  let tries = 0
  void (async () => {
    for (; tries < 40; tries++) await backoff.pause(new ConnectionError('away'), undefined)
  })()
  for (let event = 0; event < 100; event++) {
    page.dispatchEvent(new Event('online'))
    await vi.advanceTimersByTimeAsync(50)
  }
  expect(tries).toBeLessThanOrEqual(5000 / RETRY_MS)
})

test('client: a delay that the server asks for is observed, whatever the browser reports', async () => {
  const page = stubWindow()
  let isOver = false
  const busy = new ApiError('busy', { code: 'http_503', status: 503, retryable: true, retryAfterMs: 60_000 })
  void new Backoff(50, RETRY_MS).pause(busy, undefined).then(() => (isOver = true))
  page.dispatchEvent(new Event('online'))
  await vi.advanceTimersByTimeAsync(59_000)
  expect(isOver).toBe(false)
  await vi.advanceTimersByTimeAsync(2000)
  expect(isOver).toBe(true)
})

test('client: a hidden page that stays hidden keeps waiting', async () => {
  const page = stubWindow()
  page.visibilityState = 'hidden'
  const backoff = new Backoff(50, RETRY_MS)
  await failOften(backoff)
  let isOver = false
  void backoff.pause(new ConnectionError('away'), undefined).then(() => (isOver = true))
  page.dispatchEvent(new Event('visibilitychange'))
  await vi.advanceTimersByTimeAsync(5000)
  expect(isOver).toBe(false)
})
