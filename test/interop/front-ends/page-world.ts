/** A page in Chromium, and the program that serves it, which is killed and started again. */
import type { Page } from 'playwright-core'
import { launchChromium } from '../../browser/chromium.ts'
import { freePort } from '../../support/free-port.ts'
import { until } from '../../support/until.ts'
import { AppServer } from '../mount/app-server.ts'
import { root } from '../served.ts'

/** The first start may install packages. */
const START_MS = 10 * 60_000
const SHOWN_MS = 3 * 60_000

export interface PageWorld {
  readonly page: Page
  readonly url: string
  /** Opens a path, or the current one again, as soon as the server listens. */
  readonly open: (path?: string) => Promise<void>
  readonly killAndRestart: () => Promise<void>
}

/** `programAt`: what Node runs to serve the page at a port. */
export async function withPage(
  programAt: (port: string) => readonly string[],
  work: (world: PageWorld) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const start = (): AppServer => new AppServer(root, programAt(port), env)
  let server = start()
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    page.setDefaultTimeout(SHOWN_MS)
    const open = async (path?: string): Promise<void> => {
      const address = path === undefined ? page.url() : `${url}${path}`
      const opened = (): Promise<unknown> => page.goto(address).catch(() => undefined)
      await until(`${address} is served`, opened, { withinMs: START_MS })
    }
    const killAndRestart = async (): Promise<void> => {
      await server.kill()
      server = start()
    }
    await work({ page, url, open, killAndRestart })
  } catch (cause) {
    throw new Error(`${String(cause)}\n${server.output}`, { cause })
  } finally {
    await browser.close()
    await server.kill()
  }
}

/** The page shows the beginning and not the end: otherwise what follows proves nothing. */
export async function untilMidway(page: Page, text: string): Promise<void> {
  await untilShown(page, beginningOf(text))
  if ((await timesIn(page, text)) !== 0) throw new Error(`the page shows all of “${text}” too early`)
}

/** The page shows it once, and its beginning nowhere else. */
export async function untilWhole(page: Page, text: string): Promise<void> {
  await untilShown(page, text)
  const times = await timesIn(page, beginningOf(text))
  if (times !== 1) throw new Error(`the page shows “${text}” ${times} times`)
}

async function untilShown(page: Page, text: string): Promise<void> {
  await until(`the page shows “${text}”`, async () => (await timesIn(page, text)) > 0, { withinMs: SHOWN_MS })
}

function beginningOf(text: string): string {
  return text.slice(0, 6)
}

async function timesIn(page: Page, text: string): Promise<number> {
  return (await page.innerText('body')).split(text).length - 1
}
