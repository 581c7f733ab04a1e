/** A share link in a browser: the page of one run, with the actions that the link allows. */
import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { serveInProcess } from '../support/in-process.ts'
import { until } from '../support/until.ts'
import { hasChromium, useChromium } from './chromium.ts'

const openContext = useChromium()
const KEY = 'a-key-that-is-long-enough'

describe.skipIf(!hasChromium)('console: a share link', { timeout: INSTALL_MS + 240_000 }, () => {
  test('shows its run, answers if permitted, and reports its revocation', async () => {
    const server = await serveInProcess({ auth: { securityKey: KEY } })
    const run = await createClient({ url: server.url, key: KEY }).runs.start({
      component: 'lab',
      input: 'say kelp; ask Go on?',
    })
    await until('it asks', async () => (await run.get()).status === 'paused')
    const context = await openContext()
    const reader = await context.newPage()
    const readOnly = await run.share()
    await reader.goto(readOnly.url)
    await reader.getByText('kelp').first().waitFor()
    await reader.getByRole('button', { name: 'Replay' }).waitFor()
    expect(reader.url().split('#')[0]).toBe(`${server.url}/console/runs/${run.id}`)
    expect(await reader.locator('.questions').count()).toBe(0)
    expect(await reader.getByRole('button', { name: 'Stop' }).count()).toBe(0)
    expect(await reader.locator('nav[aria-label="Pages"] a').count()).toBe(0)
    const page = await context.newPage()
    const link = await run.share({ can: ['read', 'answer', 'stop'] })
    await page.goto(link.url)
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await page.locator('.questions textarea, .questions input').first().fill('yes')
    await page.locator('.questions button').first().click()
    await until('it went on', async () => (await run.get()).status === 'completed')
    await run.revokeShare(readOnly.id)
    await reader.reload()
    await reader.getByText('This link has expired or was revoked').waitFor()
  })
})
