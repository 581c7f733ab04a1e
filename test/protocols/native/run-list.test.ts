/** Finding runs over the native protocol. */
import { describe, expect, test } from 'vitest'
import type { RunShape } from '../../../src/protocols/native/wire/shapes.ts'
import { call, startRun, untilFinished, untilStatus } from '../../support/http.ts'
import { type NativeServer, serveNative } from './serve.ts'
import type { RunPage } from './shapes.ts'

describe.each(['memory', 'sqlite'] as const)('GET /runs on the %s store', (store) => {
  test('lists the newest first, and filters by component, session and status', async () => {
    const server = await serveNative({ store })
    const started: RunShape[] = []
    for (const [component, session, input] of [
      ['lab', 'a', ''],
      ['lab-retry', 'a', 'throw boom'],
      ['lab', 'b', 'ask Go on?'],
      ['lab', 'b', 'reject no'],
    ] as const) {
      started.push(await startRun(server, input, { component, session }))
    }
    const [completed, failed, paused, rejected] = started.map(({ id }) => id)
    for (const id of [completed!, failed!, rejected!]) await untilFinished(server, id)
    await untilStatus(server, paused!, ['paused'])

    expect(await list(server, '')).toEqual([rejected, paused, failed, completed])
    expect(await list(server, '?component=lab')).toEqual([rejected, paused, completed])
    expect(await list(server, '?session=a')).toEqual([failed, completed])
    expect(await list(server, '?session=b&component=lab&status=paused')).toEqual([paused])
    expect(await list(server, '?status=failed,rejected')).toEqual([rejected, failed])
    expect(await list(server, '?status=failed&status=completed')).toEqual([failed, completed])
    expect(await list(server, '?session=nobody')).toEqual([])
  })

  test('has pages that are stable while runs come and go', async () => {
    const server = await serveNative({ store })
    const ids: string[] = []
    for (let count = 0; count < 7; count++) ids.unshift((await startRun(server, '')).id)
    for (const id of ids) await untilFinished(server, id)

    const first = await page(server, '?limit=3')
    expect(idsOf(first)).toEqual(ids.slice(0, 3))
    await startRun(server, '')
    await call(server, 'DELETE', `/runs/${ids[2]}`) // the run that the cursor stands on
    await call(server, 'DELETE', `/runs/${ids[4]}`)
    const second = await page(server, `?limit=3&cursor=${first.cursor}`)
    expect(idsOf(second)).toEqual([ids[3], ids[5], ids[6]])
    expect(second.cursor).toBeUndefined()
  })

  test('has no cursor on a full last page', async () => {
    const server = await serveNative({ store })
    for (let count = 0; count < 2; count++) await startRun(server, '')
    expect(await page(server, '?limit=2')).not.toHaveProperty('cursor')
  })

  test.each([
    ['limit=0', 'invalid_request'],
    ['limit=-1', 'invalid_request'],
    ['limit=ten', 'invalid_request'],
    ['status=done', 'invalid_request'],
    ['status=', 'invalid_request'],
    ['cursor=', 'cursor_invalid'],
    ['cursor=nonsense', 'cursor_invalid'],
    ['cursor=W10', 'cursor_invalid'],
    ['cursor=WzEsMl0', 'cursor_invalid'],
    ['cursor=bnVsbA', 'cursor_invalid'],
  ])('rejects %s', async (query, code) => {
    const server = await serveNative({ store })
    expect(await call(server, 'GET', `/runs?${query}`)).toMatchObject({ status: 400, body: { code } })
  })
})

test('GET /runs returns no more than the maximum page size, whatever the limit', async () => {
  const server = await serveNative({ limits: { maxPageRuns: 2 } })
  for (let count = 0; count < 3; count++) await startRun(server, '')
  expect(idsOf(await page(server, '?limit=1000'))).toHaveLength(2)
  expect(idsOf(await page(server, ''))).toHaveLength(2)
})

async function page(server: NativeServer, query: string): Promise<RunPage> {
  const { status, body } = await call<RunPage>(server, 'GET', `/runs${query}`)
  expect(status).toBe(200)
  return body
}

function idsOf({ runs }: RunPage): string[] {
  return runs.map(({ id }) => id)
}

async function list(server: NativeServer, query: string): Promise<string[]> {
  return idsOf(await page(server, query))
}
