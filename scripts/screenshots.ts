/**
 * Pictures of every page of the console, light, dark and narrow, for the README and docs/console.md.
 * `node scripts/screenshots.ts [FOLDER]`, docs/images where none is named.
 */
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { labComponents } from '../src/agents/lab/kinds.ts'
import { demoComponents } from '../src/cli/demo/components.ts'
import { createClient } from '../src/client/index.ts'
import { createServer } from '../src/server/create-server.ts'
import { openMemoryStore } from '../src/stores/memory.ts'
import { root } from './command.ts'

const folder = resolve(process.argv[2] ?? join(root, 'docs/images'))
mkdirSync(folder, { recursive: true })

const components = [...demoComponents({ description: 'scripted', load: async () => undefined }), ...labComponents()]
const server = await createServer({ components, store: openMemoryStore() })
const client = createClient({ url: server.url })
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })

try {
  const runs = await makeRuns()
  for (const scheme of ['light', 'dark'] as const) await picture(browser, scheme, runs)
} finally {
  await browser.close()
  await server.stop()
}

interface Runs {
  readonly workflow: string
  readonly team: string
  readonly approval: string
}

async function start(component: string, input: string, session?: string): Promise<string> {
  return (await client.runs.start({ component, input, ...(session !== undefined && { session }) })).id
}

/** What a server looks like that somebody has worked with for a while. */
async function makeRuns(): Promise<Runs> {
  for (let number = 0; number < 8; number++)
    await start('lab', `text ${number * 7 + 3}; usage ${number * 40} 25`, 'customer-4711')
  const failed = await start('lab', 'text 3; tool search; reason 4; throw "the archive is closed"')
  const team = await start('newsroom', 'the regatta')
  const workflow = await start('publish', 'the lighthouse')
  await start('lab', 'text 5; reject "not during office hours"')
  const approval = await start('clerk', 'Send 25 to Ada')
  await start('lab', 'text 400 every 200')
  await start('storyteller', 'Tell me a story about a brave knight', 'reading-room')
  for (const id of [team, workflow, failed])
    await client.runs
      .open(id)
      .result()
      .catch(() => {})
  for await (const { type } of client.runs.stream(approval)) if (type === 'run.paused') break
  return { workflow, team, approval }
}

async function picture(from: Browser, scheme: 'light' | 'dark', runs: Runs): Promise<void> {
  const wide = await from.newContext({ colorScheme: scheme, viewport: { width: 1360, height: 860 } })
  const narrow = await from.newContext({
    colorScheme: scheme,
    viewport: { width: 390, height: 780 },
    deviceScaleFactor: 2,
  })
  const shots: Readonly<Record<string, string>> = {
    runs: '/',
    start: '/start?component=storyteller',
    run: `/runs/${runs.team}`,
    timeline: `/runs/${runs.workflow}?panel=timeline`,
    approval: `/runs/${runs.approval}`,
    server: '/server',
  }
  for (const [name, path] of Object.entries(shots)) await shoot(wide, path, `${name}-${scheme}`)
  await shootBreak(wide, `break-${scheme}`)
  await shoot(narrow, shots['run']!, `narrow-${scheme}`)
  await wide.close()
  await narrow.close()
}

async function open(context: BrowserContext, path: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${server.url}/console${path}`)
  await page.waitForSelector('h1, .empty, form.card')
  await page.waitForTimeout(600)
  return page
}

async function shoot(context: BrowserContext, path: string, name: string): Promise<void> {
  const page = await open(context, path)
  await page.screenshot({ path: join(folder, `console-${name}.png`) })
  await page.close()
}

/** With a gap that has just closed. */
async function shootBreak(context: BrowserContext, name: string): Promise<void> {
  const page = await open(context, '/break')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('button', { name: 'Open another viewer' }).click()
  await page.waitForTimeout(2500)
  await page.getByRole('button', { name: 'Offline for 5 s' }).first().click()
  await page.waitForSelector('.strip [data-late]')
  await page.waitForTimeout(2500)
  await page.screenshot({ path: join(folder, `console-${name}.png`) })
  await page.close()
}
