/** Accessibility of every page and state of the console, checked with axe. */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { demoComponents } from '../../src/cli/demo/components.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { startRun, untilStatus } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { hasChromium, useChromium } from './chromium.ts'
import { expectAccessible } from './console/axe.ts'
import { packer } from './console/packer.ts'
import { expectShown, expectStatus, openConsole } from './console/world.ts'

const openContext = useChromium()

describe.skipIf(!hasChromium)('console: axe finds nothing serious', { timeout: INSTALL_MS + 240_000 }, () => {
  test('every page is accessible', async () => {
    const components = demoComponents({ description: 'scripted', load: async () => undefined })
    const server = await serveInProcess({ components: [...components, ...labComponents(), packer] })
    const failed = await startRun(server, 'text 5; tool search; reason 2; artifact notes 1; custom fact; throw boom')
    const paused = await startRun(server, 'Send 25 to Ada', { component: 'clerk' })
    const workflow = await startRun(server, 'the lighthouse', { component: 'publish' })
    await untilStatus(server, failed.id, ['failed'])
    await untilStatus(server, paused.id, ['paused'])
    await untilStatus(server, workflow.id, ['completed'], 60_000)
    const paths = {
      '': '.runs tbody tr',
      '?search=lab': '.searched',
      '/start': '.choice',
      '/start?component=packer': '.field',
      [`/runs/${failed.id}?panel=log&event=3`]: '.event-detail',
      [`/runs/${workflow.id}?panel=timeline`]: '.span-bar',
      [`/runs/${workflow.id}?panel=wire`]: '.wire-line',
      [`/runs/${workflow.id}?panel=usage`]: '.usage-total',
      [`/runs/${paused.id}`]: '.questions',
      [`/break?run=${workflow.id}`]: '.viewer .strip span',
      '/server': '.limits',
    }
    const context = await openContext()
    for (const [path, ready] of Object.entries(paths)) {
      const page = await openConsole(context, server.url, path)
      await page.waitForSelector(ready)
      await expectAccessible(page, path)
      await page.close()
    }
  })

  test('empty, loading and error states are accessible', async () => {
    const server = await serveInProcess({ components: [] })
    const context = await openContext()
    const empty = await openConsole(context, server.url)
    for (const [path, ready] of Object.entries({
      '': '.empty',
      '?session=nobody': '.empty',
      '/start': '.empty',
      '/break': '.empty',
    })) {
      await empty.goto(`${server.url}/console${path}`)
      await empty.waitForSelector(ready)
      await expectAccessible(empty, `nothing at ${path}`)
    }
    const wrong = await openConsole(context, server.url, '/runs/run_nowhere', { forgives: /404/ })
    await wrong.waitForSelector('.problem')
    await expectAccessible(wrong, 'no such run')
    const waiting = await openConsole(context, server.url)
    await holdBack(waiting)
    for (const path of ['', '/start', '/server', '/runs/run_nowhere']) {
      await waiting.goto(`${server.url}/console${path}`)
      await waiting.waitForSelector('.loading')
      await expectAccessible(waiting, `loading ${path}`)
    }
    const cut = await openConsole(context, server.url, '', { forgives: /net::ERR|Failed to load/ })
    await cut.route(/\/console\/api\//, (route) => route.abort())
    await cut.goto(`${server.url}/console`)
    await cut.waitForSelector('.problem')
    await expectShown(cut, '.bar-state', 'Reconnecting')
    await expectAccessible(cut, 'no server')
  })

  test('dialogs are accessible: a replay, the confirmation of a kill, an invalid form', async () => {
    const server = await serveInProcess({ components: [...labComponents(), packer] })
    const { id } = await startRun(server, 'text 5')
    await untilStatus(server, id, ['completed'])
    const page = await openConsole(await openContext(), server.url, `/runs/${id}`)
    await expectStatus(page, 'completed')
    await page.getByRole('button', { name: 'Replay' }).click()
    await page.waitForSelector('.replay')
    await expectAccessible(page, 'replay')
    await page.goto(`${server.url}/console/break`)
    await page.getByRole('button', { name: 'Kill the server' }).click()
    await page.getByRole('button', { name: 'Yes, kill it' }).waitFor()
    await expectAccessible(page, 'before a kill')
    await page.goto(`${server.url}/console/start?component=packer`)
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForSelector('.problem')
    await expectAccessible(page, 'a form that is wrong')
  })

  test('the key prompt is accessible, also after a rejected key', async () => {
    const server = await serveInProcess({
      auth: { securityKey: 'open-sesame-and-close' },
    })
    const page = await openConsole(await openContext(), server.url, '', { forgives: /401/ })
    await page.getByLabel('API key or token').waitFor()
    await expectAccessible(page, 'a key is asked for')
    await page.getByLabel('API key or token').fill('wrong')
    await page.getByRole('button', { name: 'Continue' }).click()
    await expectShown(page, '.problem', 'rejected this key')
    await expectAccessible(page, 'a key was refused')
    expect(await page.getByLabel('API key or token').getAttribute('type')).toBe('password')
  })
})

/** Requests of the page never get a response. */
async function holdBack(page: Page): Promise<void> {
  await page.route(/\/(console\/api|components|runs\/run_)/, async (route, request) => {
    if (request.isNavigationRequest()) await route.continue()
  })
}
