/**
 * Takes screenshots of every console page, light and dark, wide and narrow, for the README and docs/console.md.
 * `node scripts/screenshots.ts [FOLDER]`. Default: docs/images. With `--states` also rare states: empty, loading, errors, long names,
 * every page on a phone.
 */
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { agent } from '../src/agents/agent.ts'
import { labComponents } from '../src/agents/lab/kinds.ts'
import { demoComponents } from '../src/cli/demo/components.ts'
import { createClient } from '../src/client/index.ts'
import { createEvent } from '../src/core/ports/component.ts'
import { createServer } from '../src/server/create-server.ts'
import { createMemoryStore } from '../src/stores/memory.ts'
import { fillStore } from '../test/support/many-runs.ts'
import { root } from './command.ts'

const { values, positionals } = parseArgs({ options: { states: { type: 'boolean' } }, allowPositionals: true })
const folder = resolve(positionals[0] ?? join(root, 'docs/images'))
mkdirSync(folder, { recursive: true })

const LONG = 'a-component-with-a-name-that-somebody-made-much-longer-than-anybody-would-think-it-would-have-to-be'
const talkative = agent<unknown>({
  id: LONG,
  name: `${LONG} and a title with spaces in it`,
  description: `${'It has a lot to say about itself. '.repeat(12)}${'Verylongwordswithoutanyplacetobreak'.repeat(5)}`,
  async *run(_input, { tool }) {
    yield `# A heading that goes on and on, over more than one line, as headings of models do\n\n${'word'.repeat(80)}\n\n`
    yield '| a | table | with | many | columns |\n|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | a cell with more in it |\n\n'
    await tool({ name: LONG, input: { path: '/'.repeat(200) } }, () => 'x'.repeat(500))
    yield createEvent('artifact.added', { artifact: LONG, mediaType: 'text/plain', text: 'y'.repeat(300), last: true })
    throw new Error(`${'It failed for a reason that takes a while to tell. '.repeat(6)}${'z'.repeat(200)}`)
  },
})

const store = createMemoryStore()
await fillStore(store, 30)
const components = [...demoComponents({ description: 'scripted', load: async () => undefined }), ...labComponents()]
const server = await createServer({ components, store, supervised: true })
const others = {
  empty: await createServer({ components: [], store: createMemoryStore() }),
  locked: await createServer({
    components,
    store: createMemoryStore(),
    auth: { securityKey: 'open-sesame' },
  }),
  long: await createServer({ components: [talkative], store: createMemoryStore() }),
}
const client = createClient({ url: server.url })
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })

const WIDE = { viewport: { width: 1360, height: 860 } }
const NARROW = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2 }

try {
  const runs = await makeRuns()
  const pages = pagesOf(runs)
  for (const colorScheme of ['light', 'dark'] as const) {
    const wide = await browser.newContext({ colorScheme, ...WIDE })
    const narrow = await browser.newContext({ colorScheme, ...NARROW })
    for (const [name, path] of Object.entries(pages)) await shoot(wide, server.url, path, `${name}-${colorScheme}`)
    await shootStart(wide, `start-${colorScheme}`)
    await shootBreak(wide, `break-${colorScheme}`)
    await shoot(wide, others.locked.url, '', `key-${colorScheme}`)
    await shoot(narrow, server.url, pages['run']!, `narrow-${colorScheme}`)
    await shoot(narrow, server.url, pages['runs']!, `narrow-runs-${colorScheme}`)
    if (values.states === true) await shootStates(wide, narrow, pages, colorScheme)
    await wide.close()
    await narrow.close()
  }
} finally {
  await browser.close()
  await Promise.all([server, ...Object.values(others)].map((each) => each.close()))
}

interface Runs {
  readonly workflow: string
  readonly team: string
  readonly approval: string
}

function pagesOf({ workflow, team, approval }: Runs): Readonly<Record<string, string>> {
  return {
    runs: '/',
    run: `/runs/${team}`,
    timeline: `/runs/${workflow}?panel=timeline`,
    wire: `/runs/${team}?panel=wire`,
    approval: `/runs/${approval}`,
    server: '/server',
  }
}

async function start(component: string, input: string, session?: string): Promise<string> {
  return (await client.runs.start({ component, input, ...(session !== undefined && { session }) })).id
}

/** Fills a server with realistic data. */
async function makeRuns(): Promise<Runs> {
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
  for await (const { type } of client.runs.events(approval)) if (type === 'run.paused') break
  return { workflow, team, approval }
}

async function open(context: BrowserContext, url: string, path: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${url}/console${path}`)
  await page.waitForSelector('h1, .empty, form.card, .loading, .problem')
  await page.waitForTimeout(600)
  return page
}

async function shoot(context: BrowserContext, url: string, path: string, name: string): Promise<void> {
  await save(await open(context, url, path), name)
}

async function save(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(folder, `console-${name}.png`) })
  await page.close()
}

async function shootStart(context: BrowserContext, name: string): Promise<void> {
  const page = await open(context, server.url, '/start?component=storyteller')
  await page.getByLabel('Input', { exact: true }).fill('Tell me a story about a brave knight')
  await page.getByLabel('Session', { exact: true }).fill('reading-room')
  await save(page, name)
}

/** Right after a reconnect. */
async function shootBreak(context: BrowserContext, name: string): Promise<void> {
  const page = await open(context, server.url, '/break')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByRole('button', { name: 'Open another viewer' }).click()
  await page.waitForTimeout(2500)
  await page.getByRole('button', { name: 'Offline for 5 s' }).first().click()
  await page.waitForSelector('.strip [data-late]')
  await page.waitForTimeout(2500)
  await save(page, name)
}

/** For review only, not shipped. */
async function shootStates(
  wide: BrowserContext,
  narrow: BrowserContext,
  pages: Readonly<Record<string, string>>,
  scheme: string,
): Promise<void> {
  for (const [name, path] of Object.entries({ ...pages, start: '/start', break: '/break' }))
    await shoot(narrow, server.url, path, `state-narrow-${name}-${scheme}`)
  await shoot(wide, others.empty.url, '', `state-empty-${scheme}`)
  await shoot(wide, others.empty.url, '/start', `state-empty-start-${scheme}`)
  await shoot(wide, server.url, '?search=nobody', `state-empty-search-${scheme}`)
  await shoot(wide, server.url, '/runs/run_nowhere', `state-error-${scheme}`)
  await shoot(wide, server.url, `${pages['run']}?panel=usage`, `state-usage-${scheme}`)
  await shoot(wide, server.url, `${pages['run']}?panel=log&event=9`, `state-event-${scheme}`)
  await shootLoading(wide, scheme)
  await shootReplay(wide, `${pages['run']}`, scheme)
  const { id } = await createClient({ url: others.long.url }).runs.start({ component: LONG, input: 'x', session: LONG })
  for (const [context, size] of [
    [wide, 'wide'],
    [narrow, 'narrow'],
  ] as const) {
    await shoot(context, others.long.url, '', `state-long-runs-${size}-${scheme}`)
    await shoot(context, others.long.url, `/runs/${id}`, `state-long-run-${size}-${scheme}`)
    await shoot(context, others.long.url, '/start', `state-long-start-${size}-${scheme}`)
  }
}

async function shootLoading(context: BrowserContext, scheme: string): Promise<void> {
  const page = await context.newPage()
  await page.route(/\/console\/api\//, () => {}) // never answered
  await page.goto(`${server.url}/console`)
  await page.waitForSelector('.loading')
  await save(page, `state-loading-${scheme}`)
  const cut = await open(context, server.url, '')
  await cut.route(/\/console\/api\//, (route) => route.abort())
  await cut.reload()
  await cut.waitForSelector('.problem')
  await save(cut, `state-cut-${scheme}`)
}

async function shootReplay(context: BrowserContext, path: string, scheme: string): Promise<void> {
  const page = await open(context, server.url, path)
  await page.getByRole('button', { name: 'Replay' }).click()
  await page.getByLabel('Place in the log').fill('40')
  await save(page, `state-replay-${scheme}`)
}
