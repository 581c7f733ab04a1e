/** Copies a store with every kind of content from SQLite into another store and back, and checks what clients read. */
import { expect } from 'vitest'
import {
  answerRun,
  call as request,
  followRun,
  getRun,
  postRun,
  readLog,
  startRun,
  stopRun,
  untilFinished,
  untilStatus,
} from '../../support/http.ts'
import { until } from '../../support/until.ts'
import { callWith, NOBODY } from '../called.ts'
import { contentsIn, serveStore, sqliteAddress } from './stores.ts'

const call = callWith(NOBODY)
const SCRIPT = 'text 40; tool search; big 300; date; say "ü🌊"'

interface Known {
  readonly completed: string
  readonly trimmed: string
  readonly paused: string
  readonly queued: string
  readonly running: string
  /** Of the completed run. */
  readonly log: Buffer
}

export async function expectSameAfterRoundTrip(shared: string): Promise<void> {
  const [old, back] = [sqliteAddress(), sqliteAddress()]
  const known = await fillStore(old)
  const before = await contentsIn(old)
  expect(before.runs).toHaveLength(7)

  const moved = await call('copy', '--from', old, '--to', shared)
  expect(moved).toMatchObject({ code: 0, stdout: expect.stringContaining('7 runs and ') as string })
  expect(moved.stdout).toContain('unfinished, continue in the target: 1 paused, 1 queued, 1 running')
  expect(await contentsIn(shared)).toEqual(before)

  const again = await call('copy', '--from', shared, '--to', back, '--json')
  expect(JSON.parse(again.stdout)).toMatchObject({ runs: { copied: 7, present: 0 }, mismatched: 0 })
  expect(await contentsIn(back)).toEqual(before)

  const once = await call('copy', '--from', old, '--to', back, '--json')
  expect(JSON.parse(once.stdout)).toMatchObject({ runs: { copied: 0, continued: 0, present: 7 }, mismatched: 0 })

  for (const address of [shared, back]) await expectServed(address, known)
}

/** Runs in every state, and what else a store keeps. */
async function fillStore(address: string): Promise<Known> {
  const server = await serveStore(address)
  const finished = async (script: string, options = {}): Promise<string> => {
    const { id } = await startRun(server, script, options)
    await untilFinished(server, id)
    return id
  }
  const completed = await finished(SCRIPT, { key: 'key-1', session: 's-1' })
  await finished('text 3; throw boom')
  const trimmed = await finished('text 20')
  await server.store.trim(trimmed, 15)
  const { id: stopped } = await startRun(server, 'hang')
  await untilStatus(server, stopped, ['running'])
  await stopRun(server, stopped, 10_000)
  const { id: paused } = await startRun(server, 'text 2; ask Go on?; text 2', { component: 'lab-queue', session: 'q' })
  await untilStatus(server, paused, ['paused'])
  const { id: queued } = await startRun(server, 'text 4', { component: 'lab-queue', session: 'q' })
  const { id: running } = await startRun(server, 'text 3; step pay; sleep 3000; text 3', { component: 'lab-resume' })
  await until('it has paid', async () => (await getRun(server, running)).events > 6)
  for (const body of [{ cursor: 3 }, { cursor: 4 }])
    await server.store.documents.put({ owner: 'local', collection: 'pushes', id: 'p-1', label: 'x', title: 'É', body })
  const log = await readLog(server, completed)
  await server.stop()
  return { completed, trimmed, paused, queued, running, log }
}

/** Checks that clients of the source store find everything in the target. */
async function expectServed(address: string, known: Known): Promise<void> {
  const server = await serveStore(address)
  const resumed = followRun(server, known.completed, { after: 10 })
  expect(await resumed.ended).toBe('closed')
  expect(known.log.subarray(known.log.indexOf('id: 11\n')).equals(resumed.log)).toBe(true)
  expect((await readLog(server, known.completed)).equals(known.log)).toBe(true)
  expect(await request(server, 'GET', `/runs/${known.trimmed}/events?after=3`)).toMatchObject({ status: 410 })

  const retried = await postRun(server, SCRIPT, { key: 'key-1', session: 's-1' })
  expect(retried.body.id).toBe(known.completed)
  expect((await postRun(server, 'text 1', { key: 'key-1', session: 's-1' })).status).toBe(409)

  expect(await getRun(server, known.queued)).toMatchObject({ status: 'queued' })
  await answerRun(server, known.paused, 'yes')
  for (const id of [known.paused, known.queued, known.running])
    expect(await untilFinished(server, id, 30_000), id).toMatchObject({ status: 'completed' })
  await server.stop()
}
