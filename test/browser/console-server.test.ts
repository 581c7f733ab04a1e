/** The console's server page: recovered and failed runs, unreachable upstreams, and dead letters. */
import { describe, expect, test } from 'vitest'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import { receive } from '../protocols/a2a/receiver.ts'
import { send, serveA2a } from '../protocols/a2a/serve.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { startRun, untilStatus } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { hangAtFirst, recovering, World } from '../support/world.ts'
import { hasChromium, useChromium } from './chromium.ts'
import { expectShown, openConsole, WITHIN } from './console/world.ts'

const openContext = useChromium()

describe.skipIf(!hasChromium)('console: the server page', { timeout: INSTALL_MS + 120_000 }, () => {
  test('[RUN-1] counts runs of a dead worker that were recovered, and those that failed', async () => {
    const store = temporaryDatabase()
    const first = await startServer({ store })
    const started = [
      await startRun(first, 'say x; hang', { component: 'lab-resume' }),
      await startRun(first, 'say x; hang', { component: 'lab' }),
    ]
    for (const { id } of started) await untilStatus(first, id, ['running'])
    await first.kill()
    const second = await startServer({ store })
    await untilStatus(second, started[1]!.id, ['failed'], 60_000)
    const page = await openConsole(await openContext(), second.url, '/server')
    await expectShown(page, '.cards', /Recovered since start1Failed since start1/)
    await expectShown(page, '.cards', /Lag of the slowest subscriber0 events/)
  })

  test('[RUN-1] counts runs of a dead worker that no node has claimed yet', async () => {
    const component = recovering('resume', async function* (_input, context) {
      yield 'x'
      await hangAtFirst(context)
    })
    const world = new World(component)
    // It answers, and drives nothing.
    const idle = { components: [component], limits: { maxConcurrentRuns: 0 } }
    const server = await serveInProcess({ store: world.store, ...idle })
    const page = await openConsole(await openContext(), server.url, '/server')
    await expectShown(page, '.cards', /Orphaned runs0/)
    await world.orphan(1)
    await expectShown(page, '.cards', /Orphaned runs1/)
    world.worker()
    await expectShown(page, '.cards', /Orphaned runs0/)
  })

  test('names the upstream of a gateway that cannot be reached, and has none without a gateway', async () => {
    const context = await openContext()
    const gateway = await serveInProcess({ components: [upstream.agentos('http://127.0.0.1:9', { name: 'far' })] })
    const page = await openConsole(context, gateway.url, '/server')
    await expectShown(page, '.upstreams', /far: unreachable.*Addresshttp:\/\/127\.0\.0\.1:9Components0Circuitclosed/)
    const alone = await openConsole(context, (await serveInProcess()).url, '/server')
    await expectShown(alone, 'h1', 'Server')
    expect(await alone.locator('.upstreams').count()).toBe(0)
  })

  test('lists dead letters, and retries one', async () => {
    const limits = { pollIntervalMs: 20, retryDelayMs: 10, maxRetryDelayMs: 50 }
    const server = await serveA2a({ a2a: { push: { loopback: true, limits } } })
    const receiver = await receive({ answer: (times) => (times === 1 ? 307 : 200), headers: { location: '/' } })
    const page = await openConsole(await openContext(), server.url, '/server')
    await expectShown(page, 'h1', 'Server')
    expect(await page.locator('.dead-letters').count()).toBe(0)
    const push = { returnImmediately: true, taskPushNotificationConfig: { id: 'c', url: receiver.url } }
    const { id } = await send(server.agent(), 'text 1', {}, push)
    await expectShown(page, '.dead-letters h2', '1 dead letter')
    await expectShown(page, '.dead-letters li', 'redirect')
    expect(await page.locator('.dead-letters a').getAttribute('href')).toBe(`/console/runs/${id}`)
    await page.getByRole('button', { name: 'Try again' }).click()
    await until('it is delivered', () => receiver.taken.length > 0, WITHIN)
    await until('it is not listed any more', async () => (await page.locator('.dead-letters').count()) === 0, WITHIN)
  })
})
