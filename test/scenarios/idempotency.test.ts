import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { RunShape } from '../../src/protocols/native/wire/shapes.ts'
import { checkedEnd } from '../support/checker.ts'
import { EventStream } from '../support/event-stream.ts'
import { type Answer, call, postRun, readLog, type Target, untilFinished } from '../support/http.ts'
import { createKeys } from '../support/keys.ts'
import { startServer } from '../support/process.ts'
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts'
import { withSeed } from '../support/with-seed.ts'

const SCRIPT = 'text 5; step work 20; text 5'

describe('[RUN-4] fifty concurrent starts with one idempotency key', () => {
  test('are one run, executed once, and so is each later start, also after a kill', async () => {
    const store = temporaryDatabase()
    const server = await startServer({ store })
    const answers = await Promise.all(fifty(() => postRun(server, SCRIPT, { key: 'once' })))
    const id = expectOneRun(answers)
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1)
    await expectWholeListing(server, [id])
    await untilFinished(server, id)
    const records = checkedEnd(id, await readLog(server, id))
    expect(records.filter(({ type }) => type === 'run.started')).toHaveLength(1)
    expect(records.at(-1)!.type).toBe('run.completed')

    await server.kill()
    const again = await startServer({ store })
    expect(expectOneRun(await Promise.all(fifty(() => postRun(again, SCRIPT, { key: 'once' }))))).toBe(id)
    await expectWholeListing(again, [id])
    expect(await postRun(again, 'text 6', { key: 'once' })).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    })
  })

  test('are one run, whichever response format each asks for', async () => {
    const server = await startServer({ store: temporaryDatabase() })
    const body = { component: 'lab', input: SCRIPT }
    const headers = { 'idempotency-key': 'streamed' }
    const streams = fifty(() => new EventStream(`${server.url}/runs`, { method: 'POST', headers, body }))
    for (const stream of streams) expect(await stream.ended).toBe('closed')
    const { body: listing } = await call<{ runs: RunShape[] }>(server, 'GET', '/runs')
    expect(listing.runs).toHaveLength(1)
    const log = await readLog(server, listing.runs[0]!.id)
    for (const stream of streams) expect(stream.log.equals(log)).toBe(true)
  })

  test('starts with two different bodies are one run, and a conflict for every start with the other body', async () => {
    const server = await startServer({ store: temporaryDatabase() })
    const answers = await Promise.all(
      fifty((place) => postRun(server, place % 2 === 0 ? 'text 1' : 'text 2', { key: 'either' })),
    )
    const accepted = answers.filter(({ status }) => status === 202)
    const refused = answers.filter(({ status }) => status === 409)
    expect([accepted.length, refused.length]).toEqual([25, 25])
    const id = expectOneRun(accepted)
    for (const { body } of refused) expect(body).toMatchObject({ code: 'idempotency_conflict', details: { run: id } })
    await expectWholeListing(server, [id])
  })

  test('are one run although the server is killed meanwhile', async () => {
    await withSeed(async (random, progress) => {
      const store = temporaryDatabase()
      const ids: string[] = []
      for (let kill = 0; kill < 3; kill++) {
        const server = await startServer({ store, args: ['--log-level', 'warn'] })
        const key = `storm-${kill}`
        const storm = fifty(() => postRun(server, SCRIPT, { key }).catch(() => undefined))
        await wait(random.between(0, 60)) // when the fault comes: any moment is right, before the first answer or after the last
        await server.kill()
        const answered = (await Promise.all(storm)).filter((answer) => answer !== undefined)

        const again = await startServer({ store, args: ['--log-level', 'warn'] })
        const retried = await Promise.all(fifty(() => postRun(again, SCRIPT, { key })))
        ids.push(expectOneRun([...answered, ...retried]))
        await expectWholeListing(again, ids)
        await again.kill()
        Object.assign(progress, { kills: kill + 1, answered: answered.length })
      }
    })
  })
})

test('[RUN-4] [SEC-1] the same idempotency key of two principals is two runs', async () => {
  const keys = join(temporaryFolder(), 'keys.json')
  const [alice, bob] = await createKeys(keys, ['alice', 'bob'])
  const { url } = await startServer({ store: temporaryDatabase(), args: ['--auth-keys', keys] })
  const answers = await Promise.all(
    fifty((place) => postRun({ url, token: (place % 2 === 0 ? alice : bob)! }, SCRIPT, { key: 'shared' })),
  )
  const first = expectOneRun(answers.filter((_, place) => place % 2 === 0))
  const second = expectOneRun(answers.filter((_, place) => place % 2 === 1))
  expect(first).not.toBe(second)
  await expectWholeListing({ url, token: alice! }, [first])
  await expectWholeListing({ url, token: bob! }, [second])
})

function fifty<Item>(make: (place: number) => Item): Item[] {
  return Array.from({ length: 50 }, (_, place) => make(place))
}

function expectOneRun(answers: readonly Answer<RunShape>[]): string {
  for (const { status, body } of answers)
    expect({ status, id: body.id }).toEqual({ status: 202, id: answers[0]!.body.id })
  return answers[0]!.body.id
}

async function expectWholeListing(target: Target, ids: readonly string[]): Promise<void> {
  const { body } = await call<{ runs: RunShape[] }>(target, 'GET', '/runs')
  expect(body.runs.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
}
