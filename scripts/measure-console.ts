/**
 * Measures the console with many runs and with a long one: `node scripts/measure-console.ts [RUNS]`. Default: 100,000. Uses a temporary
 * store.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium } from 'playwright-core'
import { labComponents } from '../src/agents/lab/kinds.ts'
import { createClient } from '../src/client/index.ts'
import { createServer } from '../src/server/create-server.ts'
import { openSqliteStore } from '../src/stores/sqlite/index.ts'
import { paceOf, watchPace } from '../test/browser/console/pace.ts'
import { fillStore, NEEDLE } from '../test/support/many-runs.ts'

interface Page {
  readonly runs: readonly { readonly id: string }[]
  readonly cursor?: string
}

const RUNS = Number(process.argv[2] ?? 100_000)
const TIMES = 9
const folder = mkdtempSync(join(tmpdir(), 'holdfast-measure-'))
const store = await openSqliteStore({ path: join(folder, 'runs.db') })
const began = performance.now()
await fillStore(store, RUNS)
say(`${RUNS} runs stored`, performance.now() - began)
const server = await createServer({ components: labComponents(), store })
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })

try {
  const end = await walk()
  const queries = {
    'first page': '',
    'last page': `cursor=${encodeURIComponent(end)}`,
    'one session': 'session=customer-77',
    'one component': 'component=publish',
    'status failed (1 of 1,000)': 'status=failed',
    'status cancelled (none)': 'status=cancelled',
    unfinished: 'status=queued,running,paused',
    'search, one request': 'search=nothing-has-this-name',
  }
  for (const [name, query] of Object.entries(queries)) say(name, await median(() => list(query)))
  await search(await browser.newContext())
  await longRun(await browser.newContext())
} finally {
  await browser.close()
  await server.close()
  rmSync(folder, { recursive: true })
}

async function list(query: string): Promise<Page> {
  const response = await fetch(`${server.url}/console/api/runs?limit=50&${query}`)
  if (!response.ok) throw new Error(`${query}: ${response.status}`)
  return (await response.json()) as Page
}

/** Pages to the end; returns the last cursor. */
async function walk(): Promise<string> {
  const since = performance.now()
  const seen = new Set<string>()
  let cursor = ''
  for (let page = await list(''); ;) {
    for (const { id } of page.runs) seen.add(id)
    if (page.cursor === undefined) break
    cursor = page.cursor
    page = await list(`cursor=${encodeURIComponent(cursor)}`)
  }
  if (seen.size !== RUNS) throw new Error(`${seen.size} runs were listed`)
  say(`all ${RUNS}, page by page`, performance.now() - since)
  return cursor
}

async function search(context: BrowserContext): Promise<void> {
  const page = await context.newPage()
  await page.goto(`${server.url}/console`)
  await page.waitForSelector('.runs tbody tr')
  for (const text of [NEEDLE, 'nothing-has-this-name']) {
    await page.getByLabel('Search').fill(text)
    const since = performance.now()
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByText('that is all of them').waitFor()
    say(`search for ${text}, to the end, on the page`, performance.now() - since)
    await page.goto(`${server.url}/console`)
  }
}

async function longRun(context: BrowserContext): Promise<void> {
  const client = createClient({ url: server.url })
  const { id } = await client.runs.start({ component: 'lab', input: 'ask "Go on?"; text 10000 every 1' })
  for await (const { type } of client.runs.events(id)) if (type === 'run.paused') break
  await watchPace(context)
  const page = await context.newPage()
  await page.goto(`${server.url}/console/runs/${id}?panel=log&event=0`)
  await page.waitForSelector('.event-detail')
  await client.runs.answer(id, { answer: 'yes' })
  while ((await page.locator('.run-title .status').textContent()) !== 'completed')
    await page.locator('.log-panel .virtual').press('ArrowDown')
  process.stdout.write(`10,000 events while they come in: ${JSON.stringify(await paceOf(page))}\n`)
  const since = performance.now()
  await page.reload()
  await page.getByText(/^10,0\d\d$/).waitFor()
  say('10,000 events, opened when they are all there', performance.now() - since)
  for (const key of ['ArrowDown', 'PageDown', 'End', 'Home']) await page.locator('.log-panel .virtual').press(key)
  process.stdout.write(`10,000 events, gone through: ${JSON.stringify(await paceOf(page))}\n`)
}

async function median(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let time = 0; time < TIMES; time++) {
    const since = performance.now()
    await work()
    times.push(performance.now() - since)
  }
  return times.toSorted((one, other) => one - other)[Math.floor(TIMES / 2)]!
}

function say(what: string, ms: number): void {
  process.stdout.write(`${what}: ${ms.toFixed(1)} ms\n`)
}
