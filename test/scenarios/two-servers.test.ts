import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkedEnd } from '../support/checker.ts'
import { call, postRun, readLog, startRun, untilFinished } from '../support/http.ts'
import { startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'

/** Starts runs one after another until a start is refused; the ids of those that were acknowledged. */
async function startUntilRefused(server: {
  readonly url: string
}): Promise<{ acknowledged: string[]; refusal: unknown }> {
  const acknowledged: string[] = []
  for (;;) {
    const { status, body } = await postRun(server, 'text 3')
    if (status >= 300) return { acknowledged, refusal: { status, body } }
    acknowledged.push((body as { id: string }).id)
  }
}

test('[LOG-4] SQLite: a second server whose lock file was removed fences the first, and no acknowledged run is lost', async () => {
  const store = temporaryDatabase()
  const first = await startServer({ store })
  const starting = startUntilRefused(first)
  await startRun(first, 'text 1')
  rmSync(`${store}.lock`)
  const second = await startServer({ store })
  const others = await Promise.all(Array.from({ length: 5 }, () => startRun(second, 'text 3')))

  const { acknowledged, refusal } = await starting
  expect(refusal).toMatchObject({ status: 503, body: { code: 'unavailable' } })
  const health = await until('the first server says that it is fenced', async () => {
    const answer = await call<{ store: unknown }>(first, 'GET', '/health')
    return answer.status === 503 && answer
  })
  expect(health.body.store).toEqual({ ok: false, reason: 'the store is unavailable' })
  expect(await postRun(first, 'text 1')).toMatchObject({ status: 503 })
  expect(await call(second, 'GET', '/health')).toMatchObject({ status: 200 })

  expect(acknowledged.length).toBeGreaterThan(0)
  for (const id of [...acknowledged, ...others.map((run) => run.id)]) {
    await untilFinished(second, id)
    checkedEnd(id, await readLog(second, id))
  }
})

test('SQLite: a server that is fenced while idle reports it without a request, and shows no run in its old state', async () => {
  const store = temporaryDatabase()
  const first = await startServer({ store })
  const { id } = await startRun(first, 'text 1')
  await untilFinished(first, id)
  rmSync(`${store}.lock`)
  await startServer({ store })
  const health = await until('health is red', async () => {
    const answer = await call<{ store: unknown }>(first, 'GET', '/health')
    return answer.status === 503 && answer
  })
  expect(health.body.store).toEqual({ ok: false, reason: 'the store is unavailable' })
  for (const path of [`/runs/${id}`, `/runs/${id}/events`, '/runs'])
    expect(await call(first, 'GET', path), path).toMatchObject({ status: 503, body: { code: 'unavailable' } })
})
