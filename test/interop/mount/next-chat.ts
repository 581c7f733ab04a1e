/** The chat example in Next.js: built, killed while it waits for an approval, and used by a person in a real browser. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { launchChromium } from '../../browser/chromium.ts'
import { freePort } from '../../support/free-port.ts'
import { until } from '../../support/until.ts'
import { root } from '../served.ts'
import type { Tally } from '../tally.ts'
import { AppServer } from './app-server.ts'
import { copyApp, run } from './project.ts'

const BUILD_MS = 5 * 60_000
const EXAMPLE_MS = 3 * 60_000
const SHOWN_MS = 2 * 60_000

const EXPECTED = [
  'I will send it.  | approval-requested',
  'killed',
  'I will send it.  | output-available | It is sent.',
  'the page shows it: true',
  '',
].join('\n')

export async function checkNextChat(project: string, tally: Tally): Promise<void> {
  const app = copyApp(project, 'examples/next-chat', 'next-chat-app')
  const next = join(project, 'node_modules/next/dist/bin/next')
  await tally.check('Next.js chat: next build needs no configuration', async () => {
    await run('node', [next, 'build'], app, BUILD_MS)
  })
  await tally.check('Next.js chat: an approval after kill -9 continues the answer', async () => {
    const flags = ['--conditions=holdfast-source', '--no-warnings']
    const main = join(root, 'examples/next-chat/main.ts')
    const output = await run('node', [...flags, main, String(await freePort()), app, next], root, EXAMPLE_MS)
    if (output !== EXPECTED) throw new Error(`unexpected output:\n${output.slice(-2000)}`)
  })
  await tally.check('Next.js chat: the page in Chromium survives kill -9, a reload and an approval', () =>
    inBrowser(app, next),
  )
}

async function inBrowser(app: string, next: string): Promise<void> {
  const port = String(await freePort())
  const start = (): AppServer =>
    new AppServer(app, [next, 'start', '--port', port], { DATABASE: join(app, 'in-browser.db') })
  let server = start()
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    page.setDefaultTimeout(SHOWN_MS)
    const open = (): Promise<unknown> =>
      until('the page is served', () => page.goto(`http://127.0.0.1:${port}/c1`).catch(() => undefined), {
        withinMs: SHOWN_MS,
      })
    await open()
    await page.getByLabel('Message').fill('Send 25 to Ada')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('button', { name: 'Yes' }).waitFor()
    await server.kill()
    server = start()
    await open()
    await page.getByRole('button', { name: 'Yes' }).click()
    await page.getByText('It is sent.').waitFor()
    await page.reload()
    await expectOnce(page, 'I will send it.')
    await expectOnce(page, 'It is sent.')
  } finally {
    await browser.close()
    await server.kill()
  }
}

async function expectOnce(page: Page, text: string): Promise<void> {
  await page.getByText(text).first().waitFor()
  const count = await page.getByText(text).count()
  if (count !== 1) throw new Error(`the page shows ${JSON.stringify(text)} ${count} times`)
}
