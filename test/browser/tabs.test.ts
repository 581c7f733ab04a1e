/** Tabs of a real browser, which allows six connections to a host. */
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { LoggedEvent } from '../../src/client/index.ts'
import { type FaultProxy, startFaultProxy } from '../client/fault-proxy.ts'
import { type NativeServer, serveNative } from '../protocols/native/serve.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { answerRun, eventsIn, readLog, startRun, stopRun } from '../support/http.ts'
import { until } from '../support/until.ts'
import { bundle } from './bundle.ts'
import { hasChromium, useChromium } from './chromium.ts'
import type { TabsPage } from './tabs-page.ts'

declare const page: TabsPage

const TABS = 8
const WITHIN = { withinMs: 180_000, everyMs: 100 }
const openContext = useChromium()

interface World {
  readonly server: NativeServer
  readonly proxy: FaultProxy
  readonly context: BrowserContext
}

async function openWorld(): Promise<World> {
  const server = await serveNative({ limits: { heartbeatIntervalMs: 200 } })
  const script = await bundle(join(import.meta.dirname, 'tabs-page.ts'))
  const files = {
    '/page': {
      type: 'text/html',
      body: '<!doctype html><title>tab</title><script type="module" src="/page.js"></script>',
    },
    '/page.js': { type: 'text/javascript', body: script },
  }
  const proxy = await startFaultProxy(() => server.url, { files })
  return { server, proxy, context: await openContext() }
}

async function openTab({ proxy, context }: World): Promise<Page> {
  const tab = await context.newPage()
  await tab.goto(`${proxy.url}/page`)
  await tab.waitForFunction(() => 'page' in globalThis)
  return tab
}

function watch(tab: Page, id: string): Promise<void> {
  return tab.evaluate((run) => page.watch(run), id)
}

function seenBy(tab: Page, id: string): Promise<LoggedEvent[]> {
  return tab.evaluate((run) => page.seen[run] ?? [], id)
}

function untilSeen(tab: Page, id: string, type: string): Promise<true> {
  const look = async (): Promise<boolean> => (await seenBy(tab, id)).some((event) => event.type === type)
  return until(`a tab sees ${type}`, async () => (await look()) || undefined, WITHIN)
}

function endOf(tab: Page, id: string): Promise<string> {
  return until('the stream of a tab ends', () => tab.evaluate((run) => page.ended[run], id), WITHIN)
}

describe.skipIf(!hasChromium)('client: eight tabs of one browser', () => {
  test(
    '[LOG-1] eight tabs on one run share one connection, and each gets the whole log, however late it joins',
    async () => {
      const world = await openWorld()
      const { server, proxy } = world
      const { id } = await startRun(server, 'text 20 every 5; ask "Go on?"; text 20 every 5')
      const tabs: Page[] = []
      for (let count = 0; count < TABS; count++) {
        const tab = await openTab(world)
        await watch(tab, id)
        tabs.push(tab)
      }
      for (const tab of tabs) await untilSeen(tab, id, 'run.paused')
      await answerRun(server, id, 'yes')
      for (const tab of tabs) expect(await endOf(tab, id)).toBe('whole')
      const log = eventsIn(await readLog(server, id))
      for (const tab of tabs) expect(await seenBy(tab, id)).toEqual(log)
      expect(proxy.streams).toMatchObject({ most: 1, total: 1 })
    },
    INSTALL_MS + 120_000,
  )

  test(
    '[LOG-1] lose nothing when the one that holds the connection is closed',
    async () => {
      const world = await openWorld()
      const { server, proxy } = world
      const { id } = await startRun(server, 'text 5; ask "Go on?"; text 20 every 5')
      const first = await openTab(world)
      await watch(first, id)
      await untilSeen(first, id, 'run.paused')
      const others = await Promise.all(Array.from({ length: 3 }, () => openTab(world)))
      for (const tab of others) await watch(tab, id)
      for (const tab of others) await untilSeen(tab, id, 'run.paused')
      expect(proxy.streams.total).toBe(1)
      await first.close()
      await until('another tab has connected', () => proxy.streams.total === 2, WITHIN)
      await answerRun(server, id, 'yes')
      for (const tab of others) expect(await endOf(tab, id)).toBe('whole')
      const log = eventsIn(await readLog(server, id))
      for (const tab of others) expect(await seenBy(tab, id)).toEqual(log)
      expect(proxy.streams.total).toBe(2)
    },
    INSTALL_MS + 120_000,
  )

  test(
    '[LOG-1] eight tabs on sixteen runs have at most four streams, and none of them freezes',
    async () => {
      const world = await openWorld()
      const { server, proxy } = world
      const tabs = await Promise.all(Array.from({ length: TABS }, () => openTab(world)))
      const watched: { tab: Page; id: string }[] = []
      for (const tab of tabs) {
        for (const script of ['text 3; ask "Go on?"; text 3 every 20', 'text 2; ask "Sure?"; say done']) {
          const { id } = await startRun(server, script)
          await watch(tab, id)
          watched.push({ tab, id })
        }
      }
      for (const { tab, id } of watched) await untilSeen(tab, id, 'run.paused')
      expect(proxy.streams.open).toBe(4)
      for (const { tab, id } of watched) expect(await tab.evaluate((run) => page.statusOf(run), id)).toBe('paused')
      for (const { id } of watched) await answerRun(server, id, 'yes')
      for (const { tab, id } of watched) expect(await endOf(tab, id)).toBe('whole')
      for (const { tab, id } of watched) expect(await seenBy(tab, id)).toEqual(eventsIn(await readLog(server, id)))
      expect(proxy.streams.most).toBe(4)
    },
    INSTALL_MS + 120_000,
  )

  test(
    '[SUB-3] take the connection over from an unresponsive tab',
    async () => {
      const world = await openWorld()
      const { server, proxy } = world
      const { id } = await startRun(server, 'text 5; ask "Go on?"; text 5; ask "Sure?"; text 5')
      const [stuck, other] = [await openTab(world), await openTab(world)]
      // It is answered nothing, and is too patient to notice.
      await stuck.evaluate((run) => {
        globalThis.fetch = () => new Promise(() => {})
        page.watch(run, { idleTimeoutMs: 3_600_000 })
      }, id)
      await until(
        'the stuck tab leads',
        async () => (await stuck.evaluate(async () => (await navigator.locks.query()).held?.length)) === 2,
        WITHIN,
      )
      await other.evaluate((run) => page.watch(run, { idleTimeoutMs: 500 }), id)
      await untilSeen(other, id, 'run.paused')
      expect(proxy.streams.total).toBe(0)
      await answerRun(server, id, 'yes')
      await until('the other tab has a stream of its own', () => proxy.streams.open === 1, WITHIN)
      await answerRun(server, id, 'yes')
      expect(await endOf(other, id)).toBe('whole')
      expect(await seenBy(other, id)).toEqual(eventsIn(await readLog(server, id)))
    },
    INSTALL_MS + 120_000,
  )

  test(
    'each get the error when a run cannot be followed',
    async () => {
      const world = await openWorld()
      const tabs = [await openTab(world), await openTab(world)]
      for (const tab of tabs) await watch(tab, 'run_that_is_not_there')
      for (const tab of tabs) expect(await endOf(tab, 'run_that_is_not_there')).toContain('ApiError')
    },
    INSTALL_MS + 120_000,
  )

  test(
    '[SUB-2] each get notified of a gap',
    async () => {
      const world = await openWorld()
      const { server } = world
      const { id } = await startRun(server, 'text 5; hang')
      await stopRun(server, id, 10_000)
      await server.store.trim(id, 3)
      const tab = await openTab(world)
      await watch(tab, id)
      expect(await endOf(tab, id)).toContain('events before 3 were trimmed')
    },
    INSTALL_MS + 120_000,
  )
})
