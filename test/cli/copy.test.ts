/** `holdfast copy`: runs and documents are the same in the target store, and unfinished runs continue there. */
import { describe, expect, test } from 'vitest'
import { copyStore } from '../../src/cli/transfer/copy-store.ts'
import { systemClock } from '../../src/core/ports/clock.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { overriding } from '../../src/testing/broken-stores.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'
import { startPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { callWith, NOBODY } from './called.ts'
import { CommandLine } from './command-line.ts'
import { contentsOf } from './transfer/contents.ts'
import { contentsIn, openAddress, serveStore, sqliteAddress } from './transfer/stores.ts'
import { expectSameAfterRoundTrip } from './transfer/round-trip.ts'

const postgres = await startPostgres()
const call = callWith(NOBODY)
let schemas = 0

function postgresAddress(): string {
  return `${postgres.url}?schema=copy_${++schemas}`
}

test('[LOG-5] a store copied to PostgreSQL and back is unchanged, and its runs resume', { timeout: 180_000 }, () =>
  expectSameAfterRoundTrip(postgresAddress()),
)

/** Many runs, the oldest of them with a long log. */
async function fill(store: Store, runs: number): Promise<void> {
  const write = async (number: number): Promise<void> => {
    const time = new Date(Date.UTC(2026, 0, 1) + number).toISOString()
    const draft = newRun(`run_${String(number).padStart(5, '0')}`, time, { session: `session-${number % 7}` })
    const created = await store.create({ ...draft, claim: { worker: 'filler', ttlMs: 60_000 } })
    const runWriter = new RunWriter(store, systemClock, created.stored, [draft.record])
    runWriter.start()
    for (let text = 0; text < (number === 0 ? 1500 : 10); text++)
      runWriter.text(number === 0 ? 'x'.repeat(4000) : 'hello')
    runWriter.complete()
    await runWriter.flush()
  }
  await Promise.all(Array.from({ length: runs }, (_, number) => write(number)))
}

describe('an interrupted holdfast copy', () => {
  test('[LOG-1] is completed by the same command after SIGKILL, without loss or duplicates', async () => {
    const [old, shared] = [sqliteAddress(), postgresAddress()]
    const store = await openAddress(old)
    await fill(store, 250)
    const before = await contentsOf(store)
    await store.close()
    const command = ['copy', '--from', old, '--to', shared]

    for (const enough of [1, 80]) {
      const copying = new CommandLine(command)
      const arrived = `SELECT count(*)::integer AS runs FROM ${new URL(shared).searchParams.get('schema')}.runs`
      const count = async () => (await postgres.query<{ runs: number }>(arrived).catch(() => []))[0]?.runs ?? 0
      await until('some of it is there', async () => (await count()) >= enough, { withinMs: 180_000, everyMs: 1 })
      copying.kill('SIGKILL')
      expect(await copying.ended()).toMatchObject({ code: null })
      expect(await count()).toBeLessThan(250)
    }
    expect(await call(...command)).toMatchObject({ code: 0 })
    expect(await contentsIn(shared)).toEqual(before)
  })

  test('continues in the middle of a log; no worker claims a partially copied run', async () => {
    const target = sqliteAddress()
    const from = await openAddress(sqliteAddress())
    let to = await openAddress(target)
    await fill(from, 1)
    let reads = 0
    const cut = overriding(from, {
      read: (id, after, maxBytes) =>
        ++reads > 5 ? Promise.reject(new Error('the cable was pulled')) : from.read(id, after, maxBytes),
    })
    await expect(copyStore(cut, to, () => {})).rejects.toThrow('the cable was pulled')
    const there = (await to.get('run_00000'))!
    expect(there.next).toBeGreaterThan(100)
    expect(there.next).toBeLessThan(1503)
    expect(await to.claimable(10)).toEqual([])
    await to.close()
    to = await openAddress(target) // as the next command does
    expect(await to.claimable(10)).toEqual([])
    expect((await copyStore(from, to, () => {})).runs).toEqual({ copied: 0, continued: 1, present: 0 })
    expect(await contentsOf(to)).toEqual(await contentsOf(from))
    await Promise.all([from.close(), to.close()])
  })
})

describe('holdfast copy rejects', () => {
  test('a run that differs in the target, names it, and copies the rest', async () => {
    const [old, shared] = [sqliteAddress(), postgresAddress()]
    const [from, to] = [await openAddress(old), await openAddress(shared)]
    await fill(from, 3)
    const other = newRun('run_00001', new Date(0).toISOString(), { session: 'of another' })
    await to.create(other)
    await Promise.all([from.close(), to.close()])
    const { code, stdout } = await call('copy', '--from', old, '--to', shared)
    expect(code).toBe(1)
    expect(stdout).toContain('2 runs and ')
    expect(stdout).toContain('run_00001: the target has a different run with this id')
    const after = await openAddress(shared)
    expect((await after.get('run_00001'))?.run).toEqual(other.run)
    expect((await after.list({ limit: 10 })).runs).toHaveLength(3)
    await after.close()
  })

  test('a document that differs in the target', async () => {
    const [old, shared] = [sqliteAddress(), sqliteAddress()]
    for (const [address, body] of [
      [old, 1],
      [shared, 2],
    ] as const) {
      const store = await openAddress(address)
      await store.documents.put({ owner: 'local', collection: 'notes', id: 'n', body })
      await store.close()
    }
    const { code, stdout } = await call('copy', '--from', old, '--to', shared)
    expect(code).toBe(1)
    expect(stdout).toContain('notes/n: the target has a different document with this name')
  })

  test('a store that a server has open', async () => {
    const [old, shared] = [sqliteAddress(), postgresAddress()]
    const server = await serveStore(shared)
    await until('it is known to be at work', async () => (await server.store.transfer.workers()).length > 0)
    const empty = sqliteAddress()
    await (await openAddress(empty)).close()
    const refused = [call('copy', '--from', shared, '--to', old), call('copy', '--from', empty, '--to', shared)]
    for (const { code, stderr } of await Promise.all(refused)) {
      expect(code).toBe(1)
      expect(stderr).toContain('waiting for the servers and workers of postgres://')
      expect(stderr).toContain('a node is using postgres://')
    }
    const other = await serveStore(old)
    const { code, stderr } = await call('copy', '--from', old, '--to', sqliteAddress())
    expect([code, stderr]).toEqual([1, expect.stringContaining('is in use') as string])
    await other.stop()
  })

  test.each([
    [['--from', 'sqlite:a.db'], 'source or target is missing'],
    [['--from', 'memory:', '--to', 'sqlite:a.db'], 'a memory store cannot be copied'],
    [['--from', 'sqlite:a.db', '--to', 'sqlite:a.db'], 'the same store'],
    [['--from', 'sqlite:/nowhere/a.db', '--to', 'sqlite:b.db'], 'there is no store /nowhere/a.db'],
  ])('%j', async (argv, expectedText) => {
    const { code, stdout, stderr } = await call('copy', ...argv)
    expect({ stdout, isExpected: stderr.includes(expectedText) }, stderr).toEqual({ stdout: '', isExpected: true })
    expect(code).toBeGreaterThan(0)
  })
})
