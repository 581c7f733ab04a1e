/** A page of CopilotKit that talks to `/ag-ui`, with AG-UI's stock agent and with the one that attaches to its thread. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'
import { createClient, RunText } from '../../../src/client/index.ts'
import { until } from '../../support/until.ts'
import { ensurePackages } from '../installed-packages.ts'
import { root } from '../served.ts'
import type { Tally } from '../tally.ts'
import { type PageWorld, untilMidway, untilWhole, withPage } from './page-world.ts'

const SOURCE = join(import.meta.dirname, 'copilotkit')

export async function checkCopilotKit(tally: Tally): Promise<void> {
  const folder = await ensurePackages(join(SOURCE, 'package.json'), 'holdfast-interop-copilotkit')
  await tally.check('CopilotKit: the page builds', () => buildPage(folder))
  await tally.check('CopilotKit: an answer through HttpAgent is that of the log', () => inPage(folder, ask))
  await tally.check('CopilotKit: a page with HoldfastAgent shows it all after a reload midway and kill -9', () =>
    inPage(folder, askAcrossKill),
  )
}

async function buildPage(folder: string): Promise<void> {
  for (const file of ['index.html', 'page.tsx']) cpSync(join(SOURCE, file), join(folder, file))
  await build({
    root: folder,
    configFile: false,
    logLevel: 'error',
    resolve: {
      alias: { 'holdfast/ag-ui': join(root, 'src/ag-ui/index.ts') },
      dedupe: ['@ag-ui/client'], // CopilotKit's version, as in an application
    },
    build: { target: 'es2024', chunkSizeWarningLimit: 20_000 },
  })
}

async function inPage(folder: string, work: (world: PageWorld) => Promise<void>): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'holdfast-copilotkit-'))
  const program = join(import.meta.dirname, 'page-server.ts')
  try {
    await withPage((port) => [program, folder, port, join(data, 'runs.db')], work)
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

async function ask({ page, url, open }: PageWorld): Promise<void> {
  await open('/lab/t1')
  await send(page, 'text 40 every 20')
  await untilWhole(page, await textOfLog(url))
}

async function askAcrossKill({ page, url, open, killAndRestart }: PageWorld): Promise<void> {
  await open('/halting/t1?agent=holdfast')
  await send(page, 'go')
  await untilMidway(page, words(60))
  await page.reload()
  await untilMidway(page, words(60))
  await killAndRestart()
  await open()
  await untilWhole(page, await textOfLog(url))
  await untilWhole(page, words(60))
}

async function send(page: PageWorld['page'], text: string): Promise<void> {
  await page.getByRole('textbox').fill(text)
  await page.getByRole('textbox').press('Enter')
}

/** Output of the agent `halting`. */
function words(count: number): string {
  return Array.from({ length: count }, (_, word) => `[${word}]`).join(' ')
}

/** The text of the only run, once it has ended. */
async function textOfLog(url: string): Promise<string> {
  const { runs } = createClient({ url })
  const run = await until('the run is there', async () => (await runs.list()).runs[0])
  const text = new RunText()
  for await (const event of runs.events(run.id)) text.apply(event)
  return text.value.trim()
}
