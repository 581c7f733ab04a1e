/** Faults of pages and servers while a chat streams. The page of every front end must end with the text of the log. */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { INSTALL_MS } from '../support/apt.ts'
import { onlyRun, stopRun } from '../support/http.ts'
import {
  type ChatWorld,
  expectShown,
  expectTextOfLog,
  openChat,
  openChatWorld,
  sendText,
  textInLog,
} from './chat-world.ts'
import { hasChromium, useChromium } from './chromium.ts'

const TIMEOUT_MS = INSTALL_MS + 300_000

export interface FrontEnd {
  /** The file of this folder that is the page. */
  readonly script: string
  /** Of the page's address. Default: none. */
  readonly query?: string
  /** Action of a person after the server is back. Default: none, the page reconnects by itself. */
  readonly afterLoss?: (page: Page) => Promise<void>
  /** Messages of an answer after a reload. */
  readonly messagesAfterReload: number
}

export function describeChatPage(name: string, { script, query, afterLoss, messagesAfterReload }: FrontEnd): void {
  const openContext = useChromium()
  const openWorld = async (): Promise<ChatWorld> => openChatWorld(script, await openContext())
  const open = (world: ChatWorld, component: string): Promise<Page> => openChat(world, component, query)

  describe.skipIf(!hasChromium)(`${name} in Chromium`, () => {
    test(
      '[RUN-2] shows the whole answer after a reload midway, and in a second tab',
      async () => {
        const world = await openWorld()
        const page = await open(world, 'lab')
        await sendText(page, 'text 60 every 50')
        await expectShown(page, 'text', /\[10\]/)
        await page.reload()
        const other = await open(world, 'lab')
        for (const tab of [page, other]) {
          await expectTextOfLog(world, tab)
          await expectShown(tab, 'status', 'ready')
          await expectShown(tab, 'count', String(messagesAfterReload))
        }
      },
      TIMEOUT_MS,
    )

    test(
      '[RUN-1] continues after kill -9 of the server and after a time offline',
      async () => {
        const world = await openWorld()
        const page = await open(world, 'lab-resume')
        // It hangs in the end, so that however busy the machine is, the page streams when the server is killed and after that.
        await sendText(page, 'text 60 every 50; hang')
        await expectShown(page, 'text', /\[5\]/)
        await world.killAndRestart()
        await afterLoss?.(page)
        await expectShown(page, 'status', 'streaming')
        await expectShown(page, 'text', /\[15\]/)
        await world.goOffline()
        await expectShown(page, 'status', /error|lost/)
        await world.context.setOffline(false)
        await afterLoss?.(page)
        await expectShown(page, 'text', /\[59\]/)
        await stopRun(world.server, await onlyRun(world.server))
        await expectShown(page, 'status', 'ready')
        await expectTextOfLog(world, page)
      },
      TIMEOUT_MS,
    )

    test(
      'stops its run after a reload',
      async () => {
        const world = await openWorld()
        const page = await open(world, 'lab')
        await sendText(page, 'text 5; hang')
        await expectShown(page, 'text', /\[4\]/)
        await page.reload()
        await expectShown(page, 'text', /\[4\]/)
        await page.click('#stop')
        await expectShown(page, 'status', 'ready')
        await expectTextOfLog(world, page)
      },
      TIMEOUT_MS,
    )

    test(
      'sends an approval after the server was killed and the page reloaded',
      async () => {
        const world = await openWorld()
        const page = await open(world, 'clerk')
        await sendText(page, 'send 25 to Ada')
        await expectShown(page, 'asked', 'May send be called?')
        await world.killAndRestart()
        await page.reload()
        await expectShown(page, 'asked', 'May send be called?')
        await page.click('#approve')
        await expectShown(page, 'text', /Done: Ada has 25 more\./)
        await expectShown(page, 'asked', '')
        await expectTextOfLog(world, page)
      },
      TIMEOUT_MS,
    )

    test(
      'shows errors, and text without what was retracted',
      async () => {
        const world = await openWorld()
        const page = await open(world, 'fickle')
        await sendText(page, 'go')
        await expectShown(page, 'text', /draft 1/)
        await expectShown(page, 'text', 'kept draft 2')
        await expectTextOfLog(world, page)
        const failing = await open(world, 'lab')
        await sendText(failing, 'text 3; fail it broke')
        await expectShown(failing, 'error', 'it broke')
        await expectShown(failing, 'status', 'error')
        await expectTextOfLog(world, failing)
      },
      TIMEOUT_MS,
    )

    test(
      'shows an answer of 10,000 parts, and again after a reload',
      async () => {
        const world = await openWorld()
        const page = await open(world, 'lab')
        await sendText(page, 'text 10000')
        await expectTextOfLog(world, page)
        await page.reload()
        await expectTextOfLog(world, page)
        expect(await textInLog(world)).toContain('[9999]')
      },
      TIMEOUT_MS,
    )
  })
}
