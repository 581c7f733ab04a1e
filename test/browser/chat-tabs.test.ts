/** Tabs of a real browser that show one chat through `HoldfastChatTransport`. */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { INSTALL_MS } from '../support/apt.ts'

import { until } from '../support/until.ts'
import { type ChatWorld, expectShown, expectTextOfLog, openChat, openChatWorld, sendText } from './chat-world.ts'
import { hasChromium, useChromium } from './chromium.ts'

const TIMEOUT_MS = INSTALL_MS + 300_000
const WITHIN = { withinMs: 180_000, everyMs: 50 }
/** Broadcasts and locks travel apart: a lock may arrive first. */
const BROADCAST_MS = 300
const openContext = useChromium()

const openWorld = async (): Promise<ChatWorld> => openChatWorld('chat-page.ts', await openContext())
const openTab = (world: ChatWorld, component: string, query = ''): Promise<Page> =>
  openChat(world, component, `?transport=holdfast${query}`)

function untilStreams({ streams }: ChatWorld, open: number): Promise<unknown> {
  return until(`${open} streams are open`, () => streams.open === open, WITHIN)
}

describe.skipIf(!hasChromium)('HoldfastChatTransport: tabs of one chat', () => {
  test(
    '[LOG-1] three tabs share one connection, and each shows the whole answer, also after kill -9',
    async () => {
      const world = await openWorld()
      const first = await openTab(world, 'halting')
      await sendText(first, 'go')
      await expectShown(first, 'text', /\[19\]/)
      const others = [await openTab(world, 'halting'), await openTab(world, 'halting')]
      for (const tab of others) await expectShown(tab, 'text', /\[19\]/)
      await untilStreams(world, 1)
      const before = world.streams.total
      await world.killAndRestart()
      for (const tab of [first, ...others]) {
        await expectTextOfLog(world, tab)
        await expectShown(tab, 'status', 'ready')
      }
      expect(world.streams.total).toBe(before + 1)
    },
    TIMEOUT_MS,
  )

  test(
    '[LOG-1] lose nothing when the one that holds the connection is closed',
    async () => {
      const world = await openWorld()
      const first = await openTab(world, 'lab')
      await sendText(first, 'text 60 every 50; hang')
      await expectShown(first, 'text', /\[3\]/)
      const other = await openTab(world, 'lab')
      await expectShown(other, 'text', /\[5\]/)
      await untilStreams(world, 1)
      await first.close()
      await expectShown(other, 'text', /\[59\]/)
      await untilStreams(world, 1)
      await other.click('#stop')
      await expectTextOfLog(world, other)
      await expectShown(other, 'status', 'ready')
    },
    TIMEOUT_MS,
  )

  test(
    '[LOG-1] open no connection at the end of an answer, though they hear of it after its reader has left',
    async () => {
      const world = await openWorld()
      await world.context.addInitScript((delayMs) => {
        // oxlint-disable-next-line typescript/unbound-method -- called with its channel
        const listen = BroadcastChannel.prototype.addEventListener as (
          type: string,
          listener: (event: Event) => void,
        ) => void
        BroadcastChannel.prototype.addEventListener = function (
          this: BroadcastChannel,
          type: string,
          listener: unknown,
        ) {
          listen.call(this, type, (event) =>
            setTimeout(() => (listener as (event: Event) => void).call(this, event), delayMs),
          )
        }
      }, BROADCAST_MS)
      const first = await openTab(world, 'lab')
      await sendText(first, 'text 20 every 5; hang')
      await expectShown(first, 'text', /\[19\]/)
      const other = await openTab(world, 'lab')
      await expectShown(other, 'text', /\[19\]/)
      await untilStreams(world, 1)
      const before = world.streams.total
      await first.click('#stop')
      for (const tab of [first, other]) await expectShown(tab, 'status', 'ready')
      await expectTextOfLog(world, other)
      expect(world.streams.total).toBe(before)
    },
    TIMEOUT_MS,
  )

  test(
    '[SUB-3] take the connection over from a tab that is stalled',
    async () => {
      const world = await openWorld()
      const stuck = await openTab(world, 'lab')
      await sendText(stuck, 'text 20 every 5; hang')
      await expectShown(stuck, 'text', /\[19\]/)
      const other = await openTab(world, 'lab', '&idle=2000')
      await expectShown(other, 'text', /\[19\]/)
      await untilStreams(world, 1)
      // The leading tab stops sending, like a page that the browser has frozen.
      await stuck.evaluate(() => {
        BroadcastChannel.prototype.postMessage = () => {}
      })
      await until('the other tab has a stream of its own', () => world.streams.total >= 3, WITHIN)
      await other.click('#stop')
      for (const tab of [stuck, other]) await expectTextOfLog(world, tab)
    },
    TIMEOUT_MS,
  )
})
