/** The console while connections and servers die: it reconnects and loses nothing. */
import type { IncomingMessage } from 'node:http'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { type Fault, startFaultProxy } from '../client/fault-proxy.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { answerRun, onlyRun, readEvents, startRun, stopRun, untilFinished } from '../support/http.ts'
import { startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { serveNative } from '../protocols/native/serve.ts'
import { hasChromium, useChromium } from './chromium.ts'
import { openConsole, startFromPage, expectShown, expectStatus, recordShown, WITHIN } from './console/world.ts'

const TIMEOUT_MS = INSTALL_MS + 180_000
const openContext = useChromium()
/** Browser messages about connections that the test broke. */
const forgives = /net::ERR|Failed to load resource/

describe.skipIf(!hasChromium)('console under faults', { timeout: TIMEOUT_MS }, () => {
  test('[LOG-1] continues when the server is killed in the middle of a run and restarted', async () => {
    const store = temporaryDatabase()
    const first = await startServer({ store })
    const { port } = new URL(first.url)
    const page = await openConsole(await openContext(), first.url, '', { forgives })
    const id = await startFromPage(page, 'lab-resume', 'text 60 every 30; ask "Go on?"; text 20 every 10')
    await expectShown(page, '.block-text', '[5]')
    await first.kill()
    await expectShown(page, '.bar-state', 'Reconnecting')
    const second = await startServer({ store, args: ['--port', port] })
    await expectStatus(page, 'paused')
    await page.getByLabel('Answer').fill('yes')
    await page.getByRole('button', { name: 'Answer' }).click()
    await expectStatus(page, 'completed')
    const log = await readEvents(second, id)
    await expectShown(page, '.facts', String(log.length))
    const output = log.flatMap(({ type, data }) => (type === 'text.delta' ? [data['text']] : [])).join('')
    expect(words(await page.locator('.block-text .markdown').allTextContents())).toEqual(words([output]))
    expect(words([output])).toHaveLength(160)
  })

  test('provides the result of an interrupted tool call', async () => {
    const store = temporaryDatabase()
    const first = await startServer({ store })
    const { port } = new URL(first.url)
    const page = await openConsole(await openContext(), first.url, '', { forgives })
    const id = await startFromPage(page, 'lab-resume', 'tool send 600000; say over')
    await expectShown(page, '.block-tool', 'send')
    await first.kill()
    const second = await startServer({ store, args: ['--port', port] })
    await expectStatus(page, 'paused')
    await page.getByLabel('Its result').fill('{"sent":3}')
    await page.getByRole('button', { name: 'Continue with this result' }).click()
    await expectStatus(page, 'completed')
    const results = (await readEvents(second, id)).filter(({ type }) => type === 'tool.completed')
    expect(results.map(({ data }) => data['output'])).toEqual([{ sent: 3 }])
  })

  test('[RUN-1] kills a supervised server from the page, shows its restart, and viewers continue', async () => {
    const server = await startServer({ store: temporaryDatabase(), args: ['--supervise'] })
    const page = await openConsole(await openContext(), server.url, '/break', { forgives })
    // On a busy machine the run may be through with its texts before the kill. The question keeps its viewers connected.
    await page.getByLabel('Input').fill('text 100 every 40; ask "Go on?"; say over')
    await page.getByRole('button', { name: 'Start' }).click()
    await untilNumber(page, 1, 'Last event', (last) => last > 10)
    await expectShown(page, '.kill', 'Its supervisor restarts it at once')
    await page.getByRole('button', { name: 'Kill the server', exact: true }).click()
    await page.getByRole('button', { name: 'Yes, kill it' }).click()
    await expectShown(page, '.kill [role=status]', /is back after .*: process \d+ was killed, process \d+ serves/)
    await expectShown(page, '.viewer .status', 'paused')
    await answerRun(server, await onlyRun(server, 'paused'), 'yes')
    await expectShown(page, '.viewer .status', 'completed')
    await expectShown(page, '.viewer-text', /\[99\].*over/s)
    await untilNumber(page, 1, 'Reconnects', (times) => times >= 1)
    expect(await numberOf(page, 1, 'Lost')).toBe(0)
    expect(await numberOf(page, 1, 'Repeated')).toBe(0)
  })

  test('warns before a kill if nothing would restart the server', async () => {
    const server = await startServer({ store: temporaryDatabase() })
    const page = await openConsole(await openContext(), server.url, '/break', { forgives })
    await page.getByRole('button', { name: 'Kill the server for good' }).waitFor()
    await expectShown(page, '.kill', 'Nothing restarts it')
  })

  test('[LOG-1] catches up after the browser was offline', async () => {
    const server = await serveNative()
    // A browser that goes offline keeps the connections that it has, so the first one is cut as well: by what follows the answer.
    let streams = 0
    const draw = ({ url = '' }: IncomingMessage): Fault =>
      url.includes('/events') && streams++ === 0 ? { after: { bytes: 5000, by: 'cut' } } : {}
    const proxy = await startFaultProxy(() => server.url, { draw })
    const context = await openContext()
    const { id } = await startRun(server, 'text 5; ask "Go on?"; text 95')
    const page = await openConsole(context, proxy.url, `/runs/${id}`, { forgives })
    await expectStatus(page, 'paused')
    await context.setOffline(true)
    await answerRun(server, id, 'yes')
    await expectShown(page, '.bar-state', 'Reconnecting')
    await untilFinished(server, id, 60_000)
    // The cut may discard bytes that the browser has not read yet, so what it shows is what it had: paused or running.
    expect(await page.locator('.run-title .status').textContent()).toMatch(/paused|running/)
    await context.setOffline(false)
    await expectStatus(page, 'completed')
    const output = (await page.locator('.block-text .markdown').allTextContents()).join('')
    expect(output).toContain('[94]')
    expect(output.match(/\[\d+\]/g)).toHaveLength(100)
  })

  test('[SUB-1] breaks one viewer in every way while another continues, and shows the gap closing', async () => {
    const server = await serveNative()
    const page = await openConsole(await openContext(), server.url, '/break', { forgives })
    // Longer than all of this takes on a busy machine. It is stopped in the end.
    await page.getByLabel('Input').fill('text 4000 every 25')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('button', { name: 'Open another viewer' }).click()
    await untilNumber(page, 1, 'Last event', (last) => last > 20)
    const viewer = page.locator('.viewer').first()
    await viewer.getByRole('button', { name: 'Cut the connection' }).click()
    await untilNumber(page, 1, 'Reconnects', (times) => times >= 1)
    const hasShown = await recordShown(page, '.viewer .connection')
    const before = await numberOf(page, 1, 'Last event')
    await viewer.getByRole('button', { name: 'Offline for 5 s' }).click()
    await hasShown('offline')
    await untilNumber(page, 2, 'Last event', (last) => last > before + 40)
    await untilNumber(page, 1, 'Caught up', (late) => late > 20)
    await viewer.getByRole('button', { name: 'Stop reading for 5 s' }).click()
    await hasShown('not reading')
    const { events } = await stopRun(server, await onlyRun(server), 60_000)
    for (const number of [1, 2]) {
      await untilNumber(page, number, 'Last event', (last) => last === events - 1)
      expect(await numberOf(page, number, 'Lost')).toBe(0)
      expect(await numberOf(page, number, 'Repeated')).toBe(0)
    }
    expect(await numberOf(page, 2, 'Reconnects')).toBe(0)
  })
})

function words(texts: readonly string[]): string[] {
  return texts
    .join(' ')
    .split(/\s+/)
    .filter((word) => word !== '')
}

async function numberOf(page: Page, viewer: number, name: string): Promise<number> {
  const text = await page
    .locator('.viewer')
    .nth(viewer - 1)
    .locator(`[data-number="${name}"] dd`)
    .textContent()
  return Number(text!.replaceAll(',', '').replace('–', '-1'))
}

function untilNumber(page: Page, viewer: number, name: string, fits: (value: number) => boolean): Promise<unknown> {
  const look = async (): Promise<true | undefined> => fits(await numberOf(page, viewer, name)) || undefined
  return until(`viewer ${viewer} has come to a ${name} that fits`, look, WITHIN)
}
