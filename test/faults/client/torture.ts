/** React views in a real browser, behind a hostile proxy and a server that is killed repeatedly: every view must finish. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { bundle } from '../../browser/bundle.ts'
import { launchChromium } from '../../browser/chromium.ts'
import { type Fault, type FaultProxy, openFaultProxy } from '../../client/fault-proxy.ts'
import { freePort } from '../../support/free-port.ts'
import { Random } from '../../support/random.ts'
import { NodeProcess } from '../node-process.ts'
import { History } from './history.ts'
import type { Shown } from './page.ts'

const LOOK_EVERY_MS = 500
const ENDS = ['completed', 'failed', 'cancelled', 'rejected']

export interface TortureOptions {
  readonly views: number
  /** Start new waves for this long, then wait for the last one. */
  readonly forMs: number
  /** Time limit for a view to finish. */
  readonly waveMs: number
  readonly killEveryMs: number
  /** Downtime after a kill. */
  readonly awayMs: number
  readonly script: string
  /** Texts of the script. */
  readonly texts: number
  /** Of the client. */
  readonly idleTimeoutMs: number
  readonly retries: number
  readonly seed: number
}

export interface Wave {
  readonly number: number
  readonly tookMs: number
  readonly finished: number
  /** Views that differ from the log, show a problem, or did not finish. */
  readonly wrong: readonly string[]
  /** History of the slowest view. */
  readonly slowest: string
}

export interface Tortured {
  readonly waves: readonly Wave[]
  readonly kills: number
  /** Number of affected responses by fault. */
  readonly faults: Readonly<Record<string, number>>
}

export async function tortureViews(options: TortureOptions, onWave: (wave: Wave) => void): Promise<Tortured> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-torture-'))
  const node = new NodeProcess({ store: `sqlite:${join(folder, 'runs.db')}`, port: await freePort(), leaseMs: 10_000 })
  const random = new Random(options.seed)
  const ending = new AbortController()
  let proxy: (FaultProxy & { readonly close: () => Promise<void> }) | undefined
  let browser: Browser | undefined
  let killing: Promise<number> | undefined
  const waves: Wave[] = []
  const history = new History()
  try {
    await node.start()
    const script = await bundle(join(import.meta.dirname, 'page.ts'))
    proxy = await openFaultProxy(() => node.url, {
      draw: (request) => history.note(request, drawHostility(random)),
      onAway: (request) => history.noteAway(request),
      files: {
        '/page': { type: 'text/html', body: '<div id="root"></div><script type="module" src="/page.js"></script>' },
        '/page.js': { type: 'text/javascript', body: script },
      },
    })
    browser = await launchChromium()
    killing = killRepeatedly(node, options, history, ending.signal)
    const until = Date.now() + options.forMs
    do {
      const wave = await openWave(browser, proxy.url, node, options, history, waves.length + 1)
      waves.push(wave)
      onWave(wave)
    } while (Date.now() < until)
  } finally {
    ending.abort()
    await killing?.catch(() => 0)
    await browser?.close()
    await proxy?.close()
    await node.kill()
    rmSync(folder, { recursive: true, force: true })
  }
  return { waves, kills: await killing, faults: Object.fromEntries(proxy.counts) }
}

/** Faults of networks, proxies and login pages; 40 % of the responses are unaffected. */
function drawHostility(random: Random): Fault {
  if (random.chance(0.4)) return {}
  if (random.chance(0.25)) return { instead: random.pick(['nothing', '502', '503', 'page'] as const) }
  return {
    ...(random.chance(0.1) && { loses: true }),
    ...(random.chance(0.5) && {
      after: { bytes: random.between(0, 20_000), by: random.pick(['cut', 'close', 'hang'] as const) },
    }),
    ...(random.chance(0.1) && { garbage: true }),
    ...(random.chance(0.2) && { delayMs: random.between(1, 300) }),
    ...(random.chance(0.1) && { buffer: 4096 }),
    ...(random.chance(0.2) && { split: random.pick([3, 7, 100]) }),
  }
}

/** Resolves with the number of kills. */
async function killRepeatedly(
  node: NodeProcess,
  { killEveryMs, awayMs }: TortureOptions,
  history: History,
  signal: AbortSignal,
): Promise<number> {
  let kills = 0
  for (;;) {
    await wait(killEveryMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return kills
    await node.kill()
    const since = Date.now()
    kills++
    await wait(awayMs, undefined, { signal }).catch(() => {})
    await node.start()
    history.noteRestart(since, Date.now())
  }
}

async function openWave(
  browser: Browser,
  url: string,
  node: NodeProcess,
  options: TortureOptions,
  history: History,
  number: number,
): Promise<Wave> {
  const began = Date.now()
  history.clear()
  const context = await browser.newContext()
  try {
    const page = await context.newPage()
    const { views, script, idleTimeoutMs, retries } = options
    const query = new URLSearchParams({
      views: `${views}`,
      script,
      idleTimeoutMs: `${idleTimeoutMs}`,
      retries: `${retries}`,
    })
    await page.goto(`${url}/page?${query.toString()}`)
    const shown = await watch(page, options, began + options.waveMs)
    const tookMs = Date.now() - began
    const tries = await page.evaluate(() => window.tries)
    const found = await Promise.all(
      shown.map(async (view, place) => {
        const problem = await problemOf(view, place, node, options.texts)
        return problem === undefined ? undefined : `${problem}\n${history.of(place, view.id, tries, began)}`
      }),
    )
    const finished = shown.filter(({ status }) => ENDS.includes(status)).length
    const ids = shown.map(({ id }) => id)
    const wrong = found.filter((problem) => problem !== undefined)
    return { number, tookMs, finished, wrong, slowest: history.slowest(ids, tries, began) }
  } finally {
    await context.close()
  }
}

/** Waits until every view has finished, or for the time limit. */
async function watch(page: Page, { views }: TortureOptions, deadline: number): Promise<Shown[]> {
  for (;;) {
    const shown = await page.evaluate(() => window.views)
    const ended = shown.filter(({ status }) => ENDS.includes(status)).length
    if ((shown.length === views && ended === views) || Date.now() > deadline) return shown
    await wait(LOOK_EVERY_MS)
  }
}

async function problemOf(view: Shown, place: number, node: NodeProcess, texts: number): Promise<string | undefined> {
  const complain = (what: string): string => `view ${place} (${view.id}, ${view.status}): ${what}`
  if (view.status !== 'completed')
    return complain(
      `${view.problem ?? 'no problem shown'}; ${view.events} events; the server says ${await stateOf(node, view)}`,
    )
  const numbers = [...view.text.matchAll(/\[(\d+)\]/g)].map(([, number]) => Number(number))
  if (numbers.length !== texts || numbers.some((number, at) => number !== at))
    return complain(`its text is ${JSON.stringify(view.text.slice(0, 300))}`)
  return view.problem === undefined ? undefined : complain(`completed, and shows a problem: ${view.problem}`)
}

async function stateOf(node: NodeProcess, { id }: Shown): Promise<string> {
  if (id === undefined) return 'nothing: it was not started'
  const answer = await fetch(`${node.url}/runs/${id}`, { signal: AbortSignal.timeout(10_000) }).catch(() => undefined)
  if (answer?.ok !== true) return `nothing (${answer?.status ?? 'no answer'})`
  const { status, events } = (await answer.json()) as { status: string; events: number }
  return `${status}, ${events} events`
}
