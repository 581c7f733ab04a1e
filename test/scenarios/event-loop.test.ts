/** An agent that blocks the event loop is reported: during the block by a separate thread, and afterwards in /health. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { call, startRun, untilFinished } from '../support/http.ts'
import { type ServerProcess, startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'

/** For a machine that is busy with something else. */
const WITHIN = { withinMs: 180_000 }

interface Health {
  readonly eventLoop: {
    readonly delayMs: number
    readonly blocks: number
    readonly lastBlock?: { readonly component?: string }
  }
}

function serve(...args: string[]): Promise<ServerProcess> {
  const command = ['serve', join(import.meta.dirname, 'event-loop/blocker.ts')]
  return startServer({ store: temporaryDatabase(), command, args })
}

function linesOf({ stderr }: ServerProcess): Record<string, unknown>[] {
  const lines = stderr.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'))
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

test('event loop: the log names the run that blocks it, and /health reports its component afterwards', async () => {
  const server = await serve('--loop-blocked', '1s')
  const reported = (id: string, message: string): Record<string, unknown> | undefined =>
    linesOf(server).find(({ msg, run }) => String(msg).startsWith(message) && run === id)
  // The watchdog starts some time after the server and so may miss the first runs. On a starved machine another block, of no run, may
  // follow and take the place of the last one.
  const report = await until(
    'the watchdog, the log and /health report one block',
    async () => {
      const { id } = await startRun(server, '3000', { component: 'blocker' })
      expect((await untilFinished(server, id, 60_000)).status).toBe('completed')
      const during = reported(id, 'the event loop has been blocked')
      if (during === undefined) return false
      const after = await until('the logger reports', () => reported(id, 'the event loop was blocked'), WITHIN)
      const { eventLoop: health } = (await call<Health>(server, 'GET', '/health')).body
      return health.lastBlock?.component !== undefined && { during, after, health }
    },
    WITHIN,
  )
  expect(report.during).toMatchObject({ component: 'blocker', level: 40 })
  expect((report.during['frames'] as string[]).join('\n')).toMatch(/^spin .*blocker\.ts:\d+$/m)
  expect(String(report.during['time']) < String(report.after['time'])).toBe(true)
  expect(report.health.blocks).toBeGreaterThan(0)
  expect(report.health.delayMs).toBeGreaterThan(1000)
  expect(report.health.lastBlock!.component).toBe('blocker')
})

test('event loop: without a watchdog the log reports that it was blocked, but not by which run', async () => {
  const server = await serve('--loop-blocked', '0')
  const { id } = await startRun(server, '3000', { component: 'blocker' })
  expect((await untilFinished(server, id, 60_000)).status).toBe('completed')
  const line = await until('the logger reports', () =>
    linesOf(server).find(({ msg }) => String(msg).startsWith('the event loop was blocked')),
  )
  expect(line).not.toHaveProperty('run')
  expect((await call<Health>(server, 'GET', '/health')).body.eventLoop.blocks).toBeGreaterThan(0)
})
