/** Every page of the console as axe sees it: light and dark, wide and narrow. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import { describe, expect, test } from 'vitest'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { demoComponents } from '../../src/cli/demo/components.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { startRun, untilStatus } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { hasChromium, useChromium } from './chromium.ts'
import { packer } from './console/packer.ts'
import { openConsole } from './console/world.ts'

declare const axe: { run(): Promise<AxeResults> }

const openContext = useChromium()
const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

describe.skipIf(!hasChromium)('axe', { timeout: INSTALL_MS + 240_000 }, () => {
  test('finds nothing serious on any page', async () => {
    const components = demoComponents({ description: 'scripted', load: async () => undefined })
    const server = await serveInProcess({ components: [...components, ...labComponents(), packer] })
    const failed = await startRun(server, 'text 5; tool search; reason 2; artifact notes 1; custom fact; throw boom')
    const paused = await startRun(server, 'Send 25 to Ada', { component: 'clerk' })
    const workflow = await startRun(server, 'the lighthouse', { component: 'publish' })
    await untilStatus(server, failed.id, ['failed'])
    await untilStatus(server, paused.id, ['paused'])
    await untilStatus(server, workflow.id, ['completed'], 60_000)
    const paths = {
      '': '.runs tbody tr',
      '?session=nobody': '.empty',
      '/start': '.choice',
      '/start?component=packer': '.field',
      [`/runs/${failed.id}?panel=log&event=3`]: '.event-detail',
      [`/runs/${workflow.id}?panel=timeline`]: '.span-bar',
      [`/runs/${workflow.id}?panel=wire`]: '.wire-line',
      [`/runs/${workflow.id}?panel=usage`]: '.usage-total',
      [`/runs/${paused.id}`]: '.questions',
      [`/break?run=${workflow.id}`]: '.viewer .strip span',
      '/server': '.limits',
    }
    const context = await openContext()
    const found: string[] = []
    for (const [path, ready] of Object.entries(paths)) {
      const page = await openConsole(context, server.url, path)
      await page.waitForSelector(ready)
      await page.evaluate(source)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        for (const width of [1280, 390]) {
          await page.setViewportSize({ width, height: 800 })
          const { violations } = await page.evaluate(() => axe.run())
          for (const { id, impact, nodes } of violations)
            if (impact === 'serious' || impact === 'critical')
              found.push(
                `${path} ${colorScheme} ${width}: ${id} ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`,
              )
        }
      }
      await page.close()
    }
    expect(found).toEqual([])
  })
})
