import { describe, expect, test } from 'vitest'
import { assertSeenIsInLog, checkedEnd } from '../support/checker.ts'
import {
  answerRun,
  call,
  followRun,
  readLog,
  startRun,
  type Target,
  untilFinished,
  untilStatus,
} from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { startServer } from '../support/process.ts'
import type { Random } from '../support/random.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { withSeed } from '../support/with-seed.ts'

/** Every kind of event, small and large ones, and characters of one to four bytes. */
const VARIED =
  'text 5; say "ünïcödé \u{1f30a}\u2028 end"; reason 2; step plan; tool search; tool broken fail; artifact report 130; ' +
  'state place; state place; usage 3 4; date; bytes; ask Go on?; custom note; big 300; text 3'

describe('a finished run', () => {
  test('[LOG-5] [SUB-2] is identical from every cursor, with or without a cut, and after a restart', async () => {
    const store = temporaryDatabase()
    const first = await startServer({ store })
    const { id } = await startRun(first, VARIED)
    const live = followRun(first, id)
    await untilStatus(first, id, ['paused'])
    await answerRun(first, id, 'yes')
    expect(await live.ended).toBe('closed')
    const { log } = live
    await expectSameFromEverywhere(first, id, log)
    await first.kill()

    await expectSameFromEverywhere(await startServer({ store }), id, log)
  })

  test('[LOG-5] is identical as JSON pages of any size and as NDJSON', async () => {
    const server = await serveInProcess()
    const { id } = await startRun(server, 'text 30; say "a\\\\b"; step plan; date; big 20; text 3')
    await untilFinished(server, id)
    const envelopes = (await readLog(server, id))
      .toString()
      .split('\n\n')
      .slice(0, -1)
      .map((frame) => frame.slice(frame.indexOf('\ndata: ') + 7))

    const lines = await call<string>(server, 'GET', `/runs/${id}/events?format=ndjson`)
    expect(lines.body.split('\n').filter((line) => line !== '')).toEqual(envelopes)
    for (const limit of [1, 2, 7, 1000]) expect(await readPages(server, id, limit)).toEqual(envelopes)
  })
})

describe('a live run', () => {
  test('[LOG-5] [SUB-2] is complete for a client that is cut after any event and reconnects', async () => {
    const server = await serveInProcess()
    const { id } = await startRun(server, 'step plan; text 20 every 15; tool search; text 20 every 5; big 100')
    const uncut = followRun(server, id)
    const cuts = Array.from({ length: 48 }, (_, cutAfter) => cutAfter)
    const resumed = cuts.map((cutAfter) => cutAndResume(server, id, cutAfter, cutAfter % 2 === 0 ? 'header' : 'query'))
    expect(await uncut.ended).toBe('closed')
    expect(checkedEnd(id, uncut.log)).toHaveLength(48)
    for (const [cutAfter, log] of (await Promise.all(resumed)).entries()) {
      expect(log.equals(uncut.log), `cut after ${cutAfter} events`).toBe(true)
    }
  })

  test('[LOG-5] [SUB-2] is complete for a client that connects, or is cut, where replay meets the tail', async () => {
    await withSeed(async (random) => {
      const server = await startServer({ store: temporaryDatabase() })
      for (let round = 0; round < 2; round++) {
        // More than network buffers hold, so that a slow reader is still behind while the log grows.
        const { id } = await startRun(server, Array.from({ length: 40 }, () => 'big 200; text 40 every 0').join('; '))
        const leader = followRun(server, id)
        let isOver = false
        void leader.ended.then(() => (isOver = true))
        const clients: Promise<Buffer>[] = []
        for (let client = 0; client < 12; client++) {
          clients.push(followWithCuts(server, id, random))
          const next = leader.events + random.between(0, 200)
          await until('the run has gone on', () => isOver || leader.events >= next, { everyMs: 2 })
        }
        const log = await readLog(server, id)
        checkedEnd(id, log)
        for (const seen of await Promise.all(clients)) expect(seen.equals(log)).toBe(true)
      }
    })
  })
})

test('[LOG-5] [RUN-1] a thousand clients that reconnect at once after a kill get exactly the rest', async () => {
  await withSeed(async (random) => {
    const store = temporaryDatabase()
    const server = await startServer({ store })
    const { id } = await startRun(server, 'text 250 every 4', { component: 'lab-resume' })
    const first = followRun(server, id)
    await until('half of it is seen', () => first.events > 120)
    await server.kill()
    await first.ended

    const again = await startServer({ store })
    const clients = Array.from({ length: 1000 }, () => {
      const after = random.between(-1, first.events - 1)
      return { after, stream: followRun(again, id, { after, by: random.pick(['header', 'query']) }) }
    })
    const log = await readLog(again, id)
    const { length } = checkedEnd(id, log)
    for (const { after, stream } of clients) {
      expect(await stream.ended).toBe('closed')
      expect(stream.events).toBe(length - after - 1)
      assertSeenIsInLog(id, stream.log, log, after)
    }
  })
})

describe('a cursor outside the log', () => {
  const wrong: Readonly<Record<string, string>> = {
    'beyond the end': '1000',
    negative: '-2',
    'no number': 'abc',
    'a fraction': '1.5',
    overflowing: '99999999999999999999',
    'larger than any index': '999999999999999',
    'with a blank': '1 2',
    'of another run': 'run_0123456789abcdefghjkmnpqrs:1',
  }

  test.each(Object.entries(wrong))(
    '[SUB-2] a cursor outside the log, %s, is rejected with an error',
    async (_what, cursor) => {
      const server = await serveInProcess()
      const { id } = await startRun(server, 'text 3')
      await untilFinished(server, id)
      for (const format of ['sse', 'json', 'ndjson']) {
        const byHeader = await call(server, 'GET', `/runs/${id}/events?format=${format}`, {
          headers: { 'last-event-id': cursor },
        })
        expect(byHeader).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
        const byQuery = await call(
          server,
          'GET',
          `/runs/${id}/events?format=${format}&after=${encodeURIComponent(cursor)}`,
        )
        expect(byQuery).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
      }
    },
  )
})

async function expectSameFromEverywhere(server: Target, id: string, log: Buffer): Promise<void> {
  const records = checkedEnd(id, log)
  expect((await readLog(server, id)).equals(log)).toBe(true)
  let offset = 0
  for (const { index } of records) {
    offset = log.indexOf('\n\n', offset) + 2
    for (const by of ['header', 'query'] as const) {
      const rest = followRun(server, id, { after: index, by })
      expect(await rest.ended).toBe('closed')
      // With everything in hand there is nothing to stream, and 204 also ends the reconnecting of an EventSource.
      expect(await rest.status()).toBe(offset === log.length ? 204 : 200)
      expect(rest.log.equals(log.subarray(offset)), `after ${index} by ${by}`).toBe(true)
    }
    const cut = await cutAndResume(server, id, index, 'header')
    expect(cut.equals(log), `cut after ${index} events`).toBe(true)
  }
}

/** All bytes of a client that is cut after `cutAfter` events and resumes. */
async function cutAndResume(server: Target, id: string, cutAfter: number, by: 'header' | 'query'): Promise<Buffer> {
  const before = followRun(server, id, { cutAfter })
  await before.ended
  const rest = followRun(server, id, { after: before.events - 1, by })
  expect(await rest.ended).toBe('closed')
  return Buffer.concat([before.log, rest.log])
}

/** All bytes of a client that is cut at times, and is slow or not. */
async function followWithCuts(server: Target, id: string, random: Random): Promise<Buffer> {
  const restMs = random.pick([0, 10])
  const parts: Buffer[] = []
  let cursor = -1
  for (let cuts = random.between(0, 4); cuts > 0; cuts--) {
    const part = followRun(server, id, { after: cursor, cutAfter: random.between(1, 800), restMs })
    const end = await part.ended
    parts.push(part.log)
    cursor += part.events
    if (end === 'closed') return Buffer.concat(parts)
  }
  const rest = followRun(server, id, { after: cursor, restMs })
  expect(await rest.ended).toBe('closed')
  return Buffer.concat([...parts, rest.log])
}

interface Page {
  readonly events: readonly unknown[]
  readonly cursor: number
  readonly done: boolean
}

/** The envelopes of a run, read page by page, each as the text it was sent as. */
async function readPages(server: Target, id: string, limit: number): Promise<string[]> {
  const envelopes: string[] = []
  for (let cursor = -1; ;) {
    const response = await fetch(`${server.url}/runs/${id}/events?format=json&after=${cursor}&limit=${limit}`)
    const text = await response.text()
    const page = JSON.parse(text) as Page
    expect(page.events.length).toBeLessThanOrEqual(limit)
    for (const event of page.events) {
      const envelope = JSON.stringify(event)
      expect(text).toContain(envelope)
      envelopes.push(envelope)
    }
    if (page.done) return envelopes
    expect(page.cursor).toBeGreaterThan(cursor)
    cursor = page.cursor
  }
}
