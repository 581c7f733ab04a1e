/** `useRun` in a real page of a real browser. */
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { startFaultProxy } from '../client/fault-proxy.ts'
import { type NativeServer, serveNative } from '../protocols/native/serve.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { getRun, readEvents, stopRun } from '../support/http.ts'
import { until } from '../support/until.ts'
import { bundle } from './bundle.ts'
import { hasChromium, useChromium } from './chromium.ts'

const WITHIN = { withinMs: 180_000, everyMs: 50 }
const TIMEOUT_MS = INSTALL_MS + 120_000
const openContext = useChromium()

interface World {
  readonly server: NativeServer
  readonly context: BrowserContext
  readonly url: string
}

async function openWorld(): Promise<World> {
  const server = await serveNative()
  const html = {
    type: 'text/html',
    body: '<!doctype html><title>run</title><div id="root"></div><script type="module" src="/page.js"></script>',
  }
  const script = { type: 'text/javascript', body: await bundle(join(import.meta.dirname, 'react-page.ts')) }
  const files = { '/page/url': html, '/page/storage': html, '/page.js': script }
  const { url } = await startFaultProxy(() => server.url, { files })
  return { server, context: await openContext(), url }
}

async function openPage({ context }: World, address: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(address)
  await page.waitForSelector('#status')
  return page
}

async function start(page: Page, script: string): Promise<void> {
  await page.fill('#script', script)
  await page.click('#start')
}

function expectShown(page: Page, id: string, expected: string): Promise<unknown> {
  return until(`#${id} shows ${expected}`, async () => (await page.textContent(`#${id}`)) === expected, WITHIN)
}

describe.skipIf(!hasChromium)('useRun', () => {
  test(
    'starts a run, shows it live, answers it, and shows its outcome',
    async () => {
      const world = await openWorld()
      const page = await openPage(world, `${world.url}/page/url`)
      await expectShown(page, 'status', 'idle')
      await start(page, 'say "one, "; ask "Go on?"; say two; fail "no more"')
      await expectShown(page, 'status', 'paused')
      await expectShown(page, 'text', 'one, ')
      await expectShown(page, 'questions', 'Go on?')
      await page.click('#answer')
      await expectShown(page, 'status', 'failed')
      await expectShown(page, 'text', 'one, two')
      await expectShown(page, 'error', 'no more')
      const id = (await page.textContent('#run'))!
      await expectShown(page, 'events', String((await readEvents(world.server, id)).length))
    },
    TIMEOUT_MS,
  )

  test(
    '[RUN-2] survives a reload, and the same URL in another tab shows the same',
    async () => {
      const world = await openWorld()
      const page = await openPage(world, `${world.url}/page/url`)
      await start(page, 'say "before "; ask "Go on?"; say after')
      await expectShown(page, 'text', 'before ')
      await expectShown(page, 'status', 'paused')
      const id = (await page.textContent('#run'))!
      await page.reload()
      await expectShown(page, 'run', id)
      await expectShown(page, 'status', 'paused')
      await expectShown(page, 'text', 'before ')
      const other = await openPage(world, page.url())
      await expectShown(other, 'text', 'before ')
      await other.click('#answer')
      for (const tab of [page, other]) {
        await expectShown(tab, 'status', 'completed')
        await expectShown(tab, 'text', 'before after')
      }
    },
    TIMEOUT_MS,
  )

  test(
    'shows the last started run in every tab if the run id is kept in storage',
    async () => {
      const world = await openWorld()
      const [one, other] = [
        await openPage(world, `${world.url}/page/storage`),
        await openPage(world, `${world.url}/page/storage`),
      ]
      await start(one, 'say first')
      for (const tab of [one, other]) await expectShown(tab, 'text', 'first')
      await start(other, 'say second; hang')
      for (const tab of [one, other]) await expectShown(tab, 'text', 'second')
      const id = (await one.textContent('#run'))!
      await other.click('#clear')
      for (const tab of [one, other]) await expectShown(tab, 'status', 'idle')
      expect((await getRun(world.server, id)).status).toBe('running')
      await stopRun(world.server, id, 10_000)
    },
    TIMEOUT_MS,
  )

  test(
    'stops a run, and reports a failed start',
    async () => {
      const world = await openWorld()
      const page = await openPage(world, `${world.url}/page/url`)
      await start(page, 'say on; hang')
      await expectShown(page, 'text', 'on')
      await page.click('#stop')
      await expectShown(page, 'status', 'cancelled')
      await start(page, 'no such statement')
      await expectShown(page, 'problem', 'invalid_request')
      await expectShown(page, 'status', 'idle')
    },
    TIMEOUT_MS,
  )

  test(
    'reports an unknown run in its URL',
    async () => {
      const world = await openWorld()
      const page = await openPage(world, `${world.url}/page/url?run=run_nowhere`)
      await expectShown(page, 'problem', 'not_found')
    },
    TIMEOUT_MS,
  )
})
