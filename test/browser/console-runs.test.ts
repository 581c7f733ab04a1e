/** The list of runs: live updates, filters and search in the address, and paging through many runs. */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { serveNative } from '../protocols/native/serve.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { answerRun, startRun } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { fillStore, NEEDLE } from '../support/many-runs.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { hasChromium, useChromium } from './chromium.ts'
import { expectShown, expectStatus, openConsole, WITHIN } from './console/world.ts'

const openContext = useChromium()

describe.skipIf(!hasChromium)('console: the list of runs', { timeout: INSTALL_MS + 120_000 }, () => {
  test('is live, filtered by the URL, and paged', async () => {
    const server = await serveNative()
    for (let count = 0; count < 60; count++) await startRun(server, 'say x', { session: count < 3 ? 'few' : 'many' })
    const page = await openConsole(await openContext(), server.url)
    await untilRows(page, 50)
    const { id } = await startRun(server, 'say one; ask "On?"; say two', { session: 'new-one' })
    await expectShown(page, '.runs tbody tr', /paused.*new-one/)
    await answerRun(server, id, 'yes')
    await expectShown(page, '.runs tbody tr', /completed.*new-one/)
    await page.getByRole('link', { name: 'Older' }).click()
    await untilRows(page, 11)
    await page.goto(`${server.url}/console?session=few&status=completed`)
    await untilRows(page, 3)
    await page.getByRole('button', { name: 'Session few' }).click()
    await page.getByLabel('Search').fill('NEW-') // a dash is in no run's id; three letters by themselves can be
    await page.getByRole('button', { name: 'Find' }).click()
    await untilRows(page, 1)
    expect(new URL(page.url()).search).toBe('?status=completed&search=NEW-')
    await page.getByLabel('Search').fill(id)
    await page.getByRole('button', { name: 'Find' }).click()
    await expectStatus(page, 'completed')
  })

  test('has a column for every field of a run', async () => {
    const server = await serveNative()
    await startRun(server, 'text 3; usage 40 2', { session: 'mine' })
    const page = await openConsole(await openContext(), server.url)
    await expectShown(page, '.runs tbody tr', 'completed')
    expect(await page.locator('.runs thead th').allTextContents()).toEqual(COLUMNS)
    const [first, ...cells] = await page.locator('.runs tbody tr > *').allTextContents()
    expect(first).toMatch(/^lab …/)
    const [age, duration] = [/^(now|\d+ s ago)$/, /^\d+(\.\d)? m?s$/].map(
      (form) => expect.stringMatching(form) as string,
    )
    expect(cells).toEqual(['completed', 'mine', age, duration, '8', '42', '1', 'native'])
  })

  test('is searched to its end, shows the progress, and stays live', async () => {
    const store = await openSqliteStore({ path: temporaryDatabase() })
    await fillStore(store, 5300)
    const server = await serveInProcess({ store })
    const page = await openConsole(await openContext(), server.url, '?search=haystack')
    await untilRows(page, 1)
    await expectShown(page, '.runs tbody tr', NEEDLE)
    await expectShown(page, '.searched', /^5,300 runs searched, back to .*: all of them\.$/)
    await startRun(server, 'say x', { session: 'another-haystack' })
    await untilRows(page, 2)
    await expectShown(page, '.runs tbody tr', 'another-haystack')
    await page.getByLabel('Search').fill('newsroom')
    await page.getByRole('button', { name: 'Find' }).click()
    await until('a page is full', async () => (await rowsOf(page)) >= 50, WITHIN)
    const newest = await firstRow(page)
    await page.getByRole('link', { name: 'Search further' }).click()
    await until('other runs are shown', async () => (await firstRow(page)) !== newest, WITHIN)
    await page.getByLabel('Search').fill('nothing has this name')
    await page.getByRole('button', { name: 'Find' }).click()
    await expectShown(page, '.empty', 'No run matches these filters')
  })

  test('is filtered by status and can be read from its end', async () => {
    const store = await openSqliteStore({ path: temporaryDatabase() })
    await fillStore(store, 2010)
    const server = await serveInProcess({ store })
    const page = await openConsole(await openContext(), server.url, '?status=failed')
    await untilRows(page, 2)
    await page.goto(`${server.url}/console?status=queued,running,paused`)
    await expectShown(page, '.empty', 'No run matches these filters')
    let address = '/console/api/runs?limit=100'
    let seen = 0
    for (let pages = 0; pages < 30; pages++) {
      const { runs, cursor } = (await (await fetch(server.url + address)).json()) as {
        runs: unknown[]
        cursor?: string
      }
      seen += runs.length
      if (cursor === undefined) break
      address = `/console/api/runs?limit=100&cursor=${encodeURIComponent(cursor)}`
    }
    expect(seen).toBe(2010)
  })
})

const COLUMNS = ['Run', 'Status', 'Session', 'Age', 'Duration', 'Events', 'Tokens', 'Attempts', 'Started by']

function rowsOf(page: Page): Promise<number> {
  return page.locator('.runs tbody tr').count()
}

function untilRows(page: Page, count: number): Promise<unknown> {
  return until(`${count} runs are shown`, async () => (await rowsOf(page)) === count || undefined, WITHIN)
}

function firstRow(page: Page): Promise<string | null> {
  return page
    .locator('.runs tbody tr a')
    .first()
    .getAttribute('href')
    .catch(() => null)
}
