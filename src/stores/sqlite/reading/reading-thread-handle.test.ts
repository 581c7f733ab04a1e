import { expect, onTestFinished, test } from 'vitest'
import { temporaryDatabase } from '../../../../test/support/temporary.ts'
import { until } from '../../../../test/support/until.ts'
import { openDatabase } from '../file/database-file.ts'
import type { ReadingReply } from './reading-messages.ts'
import { ReadingThreadHandle, type StandIn } from './reading-thread-handle.ts'

const WATCH_INTERVAL_MS = 600_000

/** A reading thread for an empty file. */
function threadWith(standIn: StandIn): ReadingThreadHandle {
  const path = temporaryDatabase()
  openDatabase(path).close()
  const thread = new ReadingThreadHandle(path, standIn, WATCH_INTERVAL_MS, () => {})
  onTestFinished(() => thread.close())
  return thread
}

const SILENT: StandIn = { read: () => {}, stall: () => undefined }
const ANSWER: ReadingReply = [{ result: 'by the stand-in' }]

test('SQLite: the committing thread serves reads until the reading thread has loaded its code', async () => {
  const thread = threadWith({ read: (_requests, answer) => setImmediate(answer, ANSWER), stall: () => undefined })
  expect(await thread.request('size')).toBe('by the stand-in')
  await until('the thread reads', async () => (await thread.request('size')) > 0)
})

test('SQLite: reads that the committing thread has not served are served by the reading thread, once', async () => {
  const late: ((reply: ReadingReply) => void)[] = []
  const thread = threadWith({ read: (_requests, answer) => late.push(answer), stall: () => undefined })
  const sizes = await Promise.all([thread.request('size'), thread.request('size')])
  expect(sizes).toEqual([expect.any(Number), expect.any(Number)])
  const next = thread.request('run', 'run_1')
  for (const answer of late) answer(ANSWER) // not taken for the answer to what was asked since
  expect(await next).toBeUndefined()
})

test('SQLite: reads are refused while the committing thread stalls, and work once the reading thread is ready', async () => {
  const stall = 'the disk does nothing'
  let isStalled = false
  const thread = threadWith({ ...SILENT, stall: () => (isStalled ? stall : undefined) })
  const pending = thread.request('size')
  isStalled = true
  thread.standInStalled(stall)
  const refusal = { code: 'unavailable', internalMessage: `the store cannot be read: ${stall}` }
  await expect(pending).rejects.toMatchObject(refusal)
  await expect(thread.request('size')).rejects.toMatchObject(refusal)
  await until('the thread reads', () => thread.request('size').catch(() => false))
})

test('SQLite: a reading thread that is closed before it has loaded its code rejects its requests', async () => {
  const thread = threadWith(SILENT)
  const pending = thread.request('size')
  await new Promise(setImmediate) // now it starts
  const outcome = pending.catch((cause: { code: string }) => cause.code)
  await thread.close()
  expect(await outcome).toBe('unavailable')
})
