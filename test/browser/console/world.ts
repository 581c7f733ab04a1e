/** The console in a real browser on a real server, with checks that apply to every page. */
import { expect, onTestFinished } from 'vitest'
import type { BrowserContext, Page } from 'playwright-core'
import { until } from '../../support/until.ts'

export const WITHIN = { withinMs: 180_000, everyMs: 50 }

export interface ConsolePage {
  readonly page: Page
  /** Errors that the browser reported. */
  readonly complaints: string[]
}

export interface OpenOptions {
  /** Console errors about connections, if the test breaks them. */
  readonly forgives?: RegExp
}

/** Opens a page of the console. The test fails if the browser has reported an error. */
export async function openConsole(
  context: BrowserContext,
  url: string,
  path = '',
  { forgives }: OpenOptions = {},
): Promise<Page> {
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  onTestFinished(() => expect(complaints.filter((each) => forgives?.test(each) !== true)).toEqual([]))
  await page.goto(`${url}/console${path}`)
  await page.waitForSelector('main > *')
  return page
}

export function expectShown(page: Page, selector: string, text: string | RegExp): Promise<unknown> {
  const fits = (shown: string | null): boolean =>
    shown !== null && (typeof text === 'string' ? shown.includes(text) : text.test(shown))
  return until(
    `${selector} shows ${text}`,
    async () => {
      const shown = await page
        .locator(selector)
        .first()
        .textContent({ timeout: 1000 })
        .catch(() => null)
      return fits(shown) || undefined
    },
    WITHIN,
  )
}

/** Records what a selector shows from now on. For transient states, which a busy machine may miss. */
export async function recordShown(page: Page, selector: string): Promise<(text: string) => Promise<unknown>> {
  const seen = await page.evaluateHandle((watched) => {
    const texts = new Set<string>()
    const look = (): void => {
      for (const { textContent } of document.querySelectorAll(watched)) texts.add(textContent)
    }
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true })
    look()
    return texts
  }, selector)
  return (text) =>
    until(
      `${selector} has shown ${text}`,
      () => seen.evaluate((texts, wanted) => [...texts].some((each) => each.includes(wanted)), text),
      WITHIN,
    )
}

export function expectStatus(page: Page, status: string): Promise<unknown> {
  return expectShown(page, '.run-title .status', status)
}

/** Starts a run from the page, as a person does; its id. */
export async function startFromPage(page: Page, component: string, input: string): Promise<string> {
  await page.getByRole('link', { name: 'Start', exact: true }).click()
  await page
    .locator('.choice', { has: page.getByText(component, { exact: true }) })
    .locator('input')
    .check()
  await page.getByLabel('Input', { exact: true }).fill(input)
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.waitForURL(/\/console\/runs\//)
  return decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1)!)
}
