/** A chat page in a real browser, its server, and the log of its run. */
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { RunText } from '../../src/client/index.ts'
import { startFaultProxy } from '../client/fault-proxy.ts'
import { call, FINISHED, readEvents } from '../support/http.ts'
import { type ServerProcess, startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { bundle } from './bundle.ts'

const WITHIN = { withinMs: 180_000, everyMs: 50 }
const COMPONENTS = ['lab', 'lab-resume', 'clerk', 'fickle', 'halting']

export interface ChatWorld {
  server: ServerProcess
  readonly context: BrowserContext
  readonly url: string
  /** Kills the server with SIGKILL, and starts another one on the same store. */
  killAndRestart(): Promise<void>
  /** Browsers refuse new requests while they are offline, and leave it to the network to break connections. */
  goOffline(): Promise<void>
  /** Event streams between pages and server. */
  readonly streams: { readonly open: number; readonly total: number }
}

/** `script` is a file of this folder that shows `/page/{component}/{chat}` by its elements: status, text, asked, error. */
export async function openChatWorld(script: string, context: BrowserContext): Promise<ChatWorld> {
  const store = temporaryDatabase()
  const start = (): Promise<ServerProcess> =>
    startServer({ store, command: ['serve', join(import.meta.dirname, 'chat-components.ts')] })
  const html = {
    type: 'text/html',
    body: '<!doctype html><title>chat</title><div id="root"></div><script type="module" src="/page.js"></script>',
  }
  const page = { type: 'text/javascript', body: await bundle(join(import.meta.dirname, script)) }
  const chats = COMPONENTS.map((component) => [`/page/${component}/c1`, html] as const)
  const world = { server: await start(), context }
  const proxy = await startFaultProxy(() => world.server.url, {
    files: { ...Object.fromEntries(chats), '/page.js': page },
  })
  return Object.assign(world, {
    url: proxy.url,
    streams: proxy.streams,
    async goOffline() {
      await context.setOffline(true)
      proxy.cut()
    },
    async killAndRestart() {
      await world.server.kill()
      world.server = await start()
    },
  })
}

export async function openChat({ context, url }: ChatWorld, component: string, query = ''): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${url}/page/${component}/c1${query}`)
  await page.waitForSelector('#status')
  return page
}

export async function sendText(page: Page, text: string): Promise<void> {
  await page.fill('#input', text)
  await page.click('#send')
}

export function expectShown(page: Page, id: string, expected: string | RegExp): Promise<unknown> {
  return until(
    `#${id} shows ${String(expected).slice(0, 200)}`,
    async () => {
      const shown = (await page.textContent(`#${id}`)) ?? ''
      return typeof expected === 'string' ? shown === expected : expected.test(shown)
    },
    WITHIN,
  )
}

/** The text of the only run, as its log has it, once it has ended. */
export async function textInLog({ server }: ChatWorld): Promise<string> {
  const run = await until(
    'the run ends',
    async () => {
      const { body } = await call<{ runs: readonly { id: string; status: string }[] }>(server, 'GET', '/runs')
      return FINISHED.includes(body.runs[0]?.status ?? 'queued') && body.runs[0]!
    },
    WITHIN,
  )
  const text = new RunText()
  for (const event of await readEvents(server, run.id)) text.apply(event as never)
  return text.value
}

/** The page ends with the text of the log. */
export async function expectTextOfLog(world: ChatWorld, page: Page): Promise<void> {
  const text = await textInLog(world)
  expect(text.length).toBeGreaterThan(0)
  await expectShown(page, 'text', text)
}
