/** `useChat` of the AI SDK, unchanged, in a real page of a real browser, through what happens to pages and servers. */
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { RunText } from '../../src/client/index.ts'
import { startFaultProxy } from '../client/fault-proxy.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { call, onlyRun, readEvents, stopRun } from '../support/http.ts'
import { type ServerProcess, startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { bundle } from './bundle.ts'
import { hasChromium, useChromium } from './chromium.ts'

const WITHIN = { withinMs: 180_000, everyMs: 50 }
const TIMEOUT_MS = INSTALL_MS + 300_000
const openContext = useChromium()

interface World {
  server: ServerProcess
  readonly context: BrowserContext
  readonly url: string
  /** Kills the server without a word, and starts another one on the same store. */
  killAndRestart(): Promise<void>
}

async function openWorld(): Promise<World> {
  const store = temporaryDatabase()
  const start = (): Promise<ServerProcess> =>
    startServer({ store, command: ['serve', join(import.meta.dirname, 'chat-components.ts')] })
  const html = {
    type: 'text/html',
    body: '<!doctype html><title>chat</title><div id="root"></div><script type="module" src="/page.js"></script>',
  }
  const script = { type: 'text/javascript', body: await bundle(join(import.meta.dirname, 'chat-page.ts')) }
  const chats = ['lab', 'lab-resume', 'clerk', 'fickle'].map((component) => [`/page/${component}/c1`, html] as const)
  const world = { server: await start(), context: await openContext() }
  const { url } = await startFaultProxy(() => world.server.url, {
    files: { ...Object.fromEntries(chats), '/page.js': script },
  })
  return Object.assign(world, {
    url,
    async killAndRestart() {
      await world.server.kill()
      world.server = await start()
    },
  })
}

async function openPage({ context, url }: World, component: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${url}/page/${component}/c1`)
  await page.waitForSelector('#status')
  return page
}

async function send(page: Page, text: string): Promise<void> {
  await page.fill('#input', text)
  await page.click('#send')
}

function expectShown(page: Page, id: string, expected: string | RegExp): Promise<unknown> {
  return until(
    `#${id} shows ${String(expected)}`,
    async () => {
      const shown = (await page.textContent(`#${id}`)) ?? ''
      return typeof expected === 'string' ? shown === expected : expected.test(shown)
    },
    WITHIN,
  )
}

/** The text of the only run, as its log has it, once it has ended. */
async function textInLog({ server }: World): Promise<string> {
  const run = await until(
    'the run ends',
    async () => {
      const { body } = await call<{ runs: readonly { id: string; status: string }[] }>(server, 'GET', '/runs')
      return !['queued', 'running', 'paused'].includes(body.runs[0]?.status ?? 'queued') && body.runs[0]!
    },
    WITHIN,
  )
  const text = new RunText()
  for (const event of await readEvents(server, run.id)) text.apply(event as never)
  return text.value
}

/** The page ends with the text of the log, in one message. */
async function expectTextOfLog(world: World, page: Page): Promise<void> {
  const text = await textInLog(world)
  expect(text.length).toBeGreaterThan(0)
  await expectShown(page, 'text', text)
}

describe.skipIf(!hasChromium)('useChat', () => {
  test(
    '[RUN-2] shows the whole answer after a reload midway, and in a second tab',
    async () => {
      const world = await openWorld()
      const page = await openPage(world, 'lab')
      await send(page, 'text 60 every 50')
      await expectShown(page, 'text', /\[10\]/)
      await page.reload()
      const other = await openPage(world, 'lab')
      for (const tab of [page, other]) {
        await expectTextOfLog(world, tab)
        await expectShown(tab, 'status', 'ready')
        await expectShown(tab, 'count', '1')
      }
    },
    TIMEOUT_MS,
  )

  test(
    '[RUN-1] continues after kill -9 of the server and after a time offline, when the page is looked at again',
    async () => {
      const world = await openWorld()
      const page = await openPage(world, 'lab-resume')
      // It hangs in the end, so that however busy the machine is, the page streams when the server is killed and after that.
      await send(page, 'text 60 every 50; hang')
      await expectShown(page, 'text', /\[5\]/)
      await world.killAndRestart()
      await expectShown(page, 'status', 'error')
      await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
      await expectShown(page, 'status', 'streaming')
      await expectShown(page, 'text', /\[15\]/)
      await world.context.setOffline(true)
      await page.reload().catch(() => {})
      await world.context.setOffline(false)
      await page.goto(`${world.url}/page/lab-resume/c1`)
      await expectShown(page, 'text', /\[59\]/)
      await stopRun(world.server, await onlyRun(world.server))
      await expectTextOfLog(world, page)
    },
    TIMEOUT_MS,
  )

  test(
    'stops its run after a reload',
    async () => {
      const world = await openWorld()
      const page = await openPage(world, 'lab')
      await send(page, 'text 5; hang')
      await expectShown(page, 'text', /\[4\]/)
      await page.reload()
      await expectShown(page, 'text', /\[4\]/)
      await page.click('#stop')
      await expectShown(page, 'status', 'ready')
      await expectTextOfLog(world, page)
    },
    TIMEOUT_MS,
  )

  test(
    'sends an approval after the server was killed and the page reloaded',
    async () => {
      const world = await openWorld()
      const page = await openPage(world, 'clerk')
      await send(page, 'send 25 to Ada')
      await expectShown(page, 'tools', 'output-available,approval-requested')
      await world.killAndRestart()
      await page.reload()
      await expectShown(page, 'tools', 'output-available,approval-requested')
      await page.click('#approve')
      await expectShown(page, 'tools', 'output-available,output-available')
      await expectTextOfLog(world, page)
      await expectShown(page, 'count', '1')
    },
    TIMEOUT_MS,
  )

  test(
    'shows errors, and text without what was retracted',
    async () => {
      const world = await openWorld()
      const page = await openPage(world, 'fickle')
      await send(page, 'go')
      await expectShown(page, 'text', /draft 1/)
      await expectShown(page, 'text', 'kept draft 2')
      await expectTextOfLog(world, page)
      const failing = await openPage(world, 'lab')
      await send(failing, 'text 3; fail it broke')
      await expectShown(failing, 'error', 'it broke')
      await expectShown(failing, 'status', 'error')
    },
    TIMEOUT_MS,
  )

  test(
    'shows an answer of 10,000 parts, and again after a reload',
    async () => {
      const world = await openWorld()
      const page = await openPage(world, 'lab')
      await send(page, 'text 10000')
      await expectTextOfLog(world, page)
      await page.reload()
      await expectTextOfLog(world, page)
      expect(await textInLog(world)).toContain('[9999]')
    },
    TIMEOUT_MS,
  )
})
