/** A run of ten thousand events: rendered with few elements, and usable while they arrive. The duration is reported, not asserted. */
import { describe, expect, test } from 'vitest'
import { serveNative } from '../protocols/native/serve.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { answerRun, getRun, startRun, untilFinished, untilStatus } from '../support/http.ts'
import { hasChromium, useChromium } from './chromium.ts'
import { paceOf, watchPace } from './console/pace.ts'
import { expectShown, expectStatus, openConsole } from './console/world.ts'

const openContext = useChromium()

describe.skipIf(!hasChromium)('console with a run of 10,000 events', { timeout: INSTALL_MS + 120_000 }, () => {
  test('renders a few hundred elements, and can jump to any event', async ({ annotate }) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 10000')
    await untilFinished(server, id, 60_000)
    const context = await openContext()
    await watchPace(context)
    const page = await openConsole(context, server.url, `/runs/${id}`)
    await expectStatus(page, 'completed')
    await expectShown(page, '.facts', '10,003')
    await annotate(`opened: ${JSON.stringify(await paceOf(page))}`)
    expect(await page.locator('.virtual-row').count()).toBeLessThan(120)
    expect(await page.locator('#root *').count()).toBeLessThan(3000)
    await page.goto(`${server.url}/console/runs/${id}?panel=log&event=5000`)
    await expectShown(page, '.event-detail h3', '5000')
    await expectShown(page, '.virtual-row[aria-selected=true]', '5000')
    await page.locator('.log-panel .virtual').press('ArrowDown')
    await expectShown(page, '.event-detail h3', '5001')
    await page.locator('.log-panel .virtual').press('End')
    await expectShown(page, '.event-detail h3', 'run.completed')
    await annotate(`gone through: ${JSON.stringify(await paceOf(page))}`)
  })

  test('responds to every key while events arrive', async ({ annotate }) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'ask "Go on?"; text 10000 every 1')
    await untilStatus(server, id, ['paused'])
    const context = await openContext()
    await watchPace(context)
    const page = await openConsole(context, server.url, `/runs/${id}?panel=log&event=0`)
    await expectShown(page, '.event-detail h3', '0')
    await paceOf(page)
    await answerRun(server, id, 'yes')
    const log = page.locator('.log-panel .virtual')
    await expectShown(page, '.facts', /Events(\d{3}|\d+,\d{3})/)
    for (let index = 1; index <= 40; index++) {
      await log.press('ArrowDown')
      await expectShown(page, '.event-detail h3', new RegExp(`^${index} `))
    }
    await untilFinished(server, id, INSTALL_MS) // ten thousand timers take minutes on a busy machine
    await expectStatus(page, 'completed')
    const { events } = await getRun(server, id)
    expect(events).toBeGreaterThan(10_000)
    await expectShown(page, '.facts', `Events${events.toLocaleString('en')}`)
    await annotate(`live: ${JSON.stringify(await paceOf(page))}`)
    expect(await page.locator('#root *').count()).toBeLessThan(3000)
  })
})
