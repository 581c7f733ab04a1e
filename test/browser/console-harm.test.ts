/** Agents whose output attacks the viewer, and keys that must not leak. */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { INSTALL_MS } from '../support/apt.ts'
import type { RunShape } from '../../src/protocols/native/wire/shapes.ts'
import { call, untilStatus } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { hasChromium, useChromium } from './chromium.ts'
import { ATTACKS, hostile } from './console/hostile.ts'
import { openConsole, startFromPage, expectShown, expectStatus } from './console/world.ts'

const TIMEOUT_MS = INSTALL_MS + 120_000
const openContext = useChromium()

describe.skipIf(!hasChromium)('console with hostile content', { timeout: TIMEOUT_MS }, () => {
  test('shows an agent’s output without executing any of it', async () => {
    const server = await serveInProcess({ components: [hostile, ...labComponents()] })
    const session = ATTACKS[1]!.slice(0, 200)
    // What not every store can hold is refused in metadata.
    const metadata = { [ATTACKS[1]!]: ATTACKS.map((attack) => attack.replaceAll('\0', '').toWellFormed()) }
    const started = await call<RunShape>(server, 'POST', '/runs', {
      body: { component: 'hostile', input: ATTACKS.join('\n'), session, metadata },
    })
    const { id } = started.body
    await untilStatus(server, id, ['paused'])
    const context = await openContext()
    const foreign: string[] = []
    context.on('request', (request) => {
      if (!request.url().startsWith(server.url) && !/^(data|blob):/.test(request.url())) foreign.push(request.url())
    })
    // An image that is none, and a run that is none, are all that a browser may complain about.
    const page = await openConsole(context, server.url, `/runs/${id}`, {
      forgives: /Failed to load resource.*(blob|404)/,
    })
    await expectStatus(page, 'paused')
    await expectShown(page, '.block-text', '<script>')
    for (const summary of await page.locator('summary').all()) await summary.click()
    await expectHarmless(page)
    for (const panel of ['timeline', 'wire', 'usage', 'log&event=0', 'log&event=4'])
      await look(page, `${server.url}/console/runs/${id}?panel=${panel}`)
    await page.getByRole('tab', { name: 'Wire' }).click()
    for (const view of await page
      .getByLabel('Protocol')
      .locator('option')
      .evaluateAll((options) => options.map((option) => (option as HTMLOptionElement).value))) {
      await page.getByLabel('Protocol').selectOption(view)
      await expectHarmless(page)
    }
    await page.locator('.questions').getByRole('button', { name: 'go on' }).click()
    await expectShown(page, '.questions .field', '<img')
    await expectHarmless(page)
    await page.locator('.questions').getByRole('button', { name: 'Answer' }).click()
    await expectStatus(page, 'failed')
    await expectHarmless(page)
    for (const path of [
      '',
      '/start?component=hostile',
      `/break?run=${id}`,
      '/server',
      `?session=${encodeURIComponent(session)}`,
      `?search=${encodeURIComponent(session)}`,
      `/runs/${encodeURIComponent(session)}`,
    ])
      await look(page, `${server.url}/console${path}`)
    expect(foreign).toEqual([])
  })

  test('has a content security policy that allows only its own files', async () => {
    const server = await serveInProcess()
    const { headers, body } = await call<string>(server, 'GET', '/console')
    const policy = headers.get('content-security-policy')!
    expect(policy).toContain(`default-src 'none'`)
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(body).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|https?:\/\//)
  })

  test('asks for the server’s key, and keeps it in the tab alone', async () => {
    const auth = { securityKey: 'open-sesame-and-close' }
    const server = await serveInProcess({ auth })
    const context = await openContext()
    const page = await openConsole(context, server.url, '', { forgives: /401/ })
    await page.getByLabel('API key or token').fill('wrong')
    await page.getByRole('button', { name: 'Continue' }).click()
    await expectShown(page, '.problem', 'rejected this key')
    await page.getByLabel('API key or token').fill('open-sesame-and-close')
    await page.getByRole('button', { name: 'Continue' }).click()
    await expectShown(page, 'h1', 'Runs')
    const addresses: string[] = []
    context.on('request', (request) => addresses.push(request.url()))
    await startFromPage(page, 'lab', 'say hello')
    await expectStatus(page, 'completed')
    await page.reload()
    await expectStatus(page, 'completed')
    expect(addresses.filter((address) => address.includes('sesame'))).toEqual([])
    const kept = await page.evaluate(() => ({ local: JSON.stringify(localStorage), cookies: document.cookie }))
    expect(kept).toEqual({ local: '{}', cookies: '' })
    const other = await openConsole(context, server.url, '', { forgives: /401/ })
    await expectShown(other, 'h1', 'needs a key')
  })
})

async function look(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await page.waitForSelector('h1')
  await page.waitForLoadState('load')
  await expectHarmless(page)
}

async function expectHarmless(page: Page): Promise<void> {
  const found = await page.evaluate(() => {
    const elements = [...document.querySelectorAll('#root *')]
    return {
      harmed: 'harmed' in globalThis,
      dangerous: elements
        .filter(({ tagName }) => /^(script|iframe|object|embed|style|base|link|meta)$/i.test(tagName))
        .map(({ outerHTML }) => outerHTML),
      handlers: elements.filter((element) => element.getAttributeNames().some((name) => name.startsWith('on'))).length,
      links: elements
        .map((element) => element.getAttribute('href') ?? element.getAttribute('src') ?? '')
        .filter((address) => /^(javascript|data:text|vbscript)/i.test(address.trim())),
    }
  })
  expect(found).toEqual({ harmed: false, dangerous: [], handlers: 0, links: [] })
}
