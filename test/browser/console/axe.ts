/** Runs axe on a page: light and dark, wide and narrow. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

declare const axe: { run(options: { runOnly?: string[] }): Promise<AxeResults> }

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const WIDTHS = [1280, 390]
/** Dark mode changes only colours. */
const RULES = { light: {}, dark: { runOnly: ['color-contrast'] } }

/** Expects no serious finding, and no horizontal overflow on a narrow page. */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  await page.evaluate(source)
  const found: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 })
      const { violations } = await page.evaluate((options) => axe.run(options), RULES[colorScheme])
      for (const { id, impact, nodes } of violations)
        if (impact === 'serious' || impact === 'critical')
          found.push(`${colorScheme} ${width}: ${id} ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      if (wide > width) found.push(`${colorScheme} ${width}: the page is ${wide} wide`)
    }
  }
  await page.setViewportSize({ width: WIDTHS[0]!, height: 800 })
  expect(found, what).toEqual([])
}
