/** The page that lists the A2A agents, in a browser. */
import { describe, expect, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { serveInProcess } from '../support/in-process.ts'
import { hasChromium, useChromium } from './chromium.ts'

const openContext = useChromium()
const KEY = 'a-key-that-is-long-enough'

const hostile = agent({
  id: 'hostile',
  description: '<img src=x onerror="document.title=1"> says hello',
  async *run(input) {
    yield `you said <b>${input}</b>`
  },
})

describe.skipIf(!hasChromium)('A2A: the page of the agents', { timeout: INSTALL_MS + 240_000 }, () => {
  test('lists agents for a key, tries one, and takes nothing that they say for markup', async () => {
    const server = await serveInProcess({
      components: [hostile],
      auth: { securityKey: KEY },
      protocols: { native: true, a2a: '/agents-a2a', 'a2a-docs': '/people/docs' },
    })
    const page = await (await openContext()).newPage()
    await page.goto(`${server.url}/people/docs`)
    await page.getByLabel('API key').fill(KEY)
    await page.getByRole('button', { name: 'Show the agents' }).click()
    await page.getByRole('heading', { name: 'hostile' }).waitFor()
    expect(await page.locator('article img').count()).toBe(0)
    await page.getByLabel('Message to hostile').fill('hello')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('TASK_STATE_COMPLETED').waitFor()
    expect(await page.locator('pre').textContent()).toContain('you said <b>hello</b>')
    expect(await page.locator('article b').count()).toBe(0)
  })

  test('lists more agents than fit one response when asked for them', async () => {
    const components = Array.from({ length: 60 }, (_, at) => agent({ id: `agent-${at}`, async *run() {} }))
    const server = await serveInProcess({ components })
    const page = await (await openContext()).newPage()
    await page.goto(`${server.url}/docs`)
    await page.getByRole('heading', { name: 'agent-49' }).waitFor()
    expect(await page.locator('article').count()).toBe(50)
    await page.getByRole('button', { name: 'More agents' }).click()
    await page.getByRole('heading', { name: 'agent-59' }).waitFor()
    expect(await page.locator('article').count()).toBe(60)
    expect(await page.getByRole('button', { name: 'More agents' }).isVisible()).toBe(false)
  })
})
