/** Changes to the file while the store has it open: removed, renamed, replaced, or blocked by long readers. */
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { temporaryDatabase } from '../../../test/support/temporary.ts'
import { until } from '../../../test/support/until.ts'
import { silentLogger } from '../../core/ports/logger.ts'
import type { Store } from '../../core/ports/store.ts'
import { newRun } from '../../testing/fixtures.ts'
import { CommittingThreadHandle } from './committing/committing-thread-handle.ts'
import { openSqliteStore, type OpenSqliteOptions } from './index.ts'

const PATIENCE = { withinMs: 180_000 }

async function opened(options: OpenSqliteOptions): Promise<Store> {
  const store = await openSqliteStore({ reopenIntervalMs: 20, watchIntervalMs: 20, ...options })
  onTestFinished(() => store.close())
  return store
}

async function create(store: Store, id: string): Promise<void> {
  await store.create(newRun(id, new Date().toISOString()))
}

function valueIn(path: string, sql: string): unknown {
  // The store opens the file again and again while it is unhealthy, and locks it for a moment each time.
  using database = new DatabaseSync(path, { readOnly: true, timeout: PATIENCE.withinMs })
  return Object.values(database.prepare(sql).get() ?? {})[0]
}

function untilHealth(store: Store, ok: boolean): Promise<string> {
  return until(
    `the store is ${ok ? 'healthy' : 'unhealthy'}`,
    () => {
      const health = store.health()
      return health.ok === ok && (health.ok ? 'ok' : health.reason)
    },
    PATIENCE,
  )
}

describe('[LOG-2] SQLite: a database file in use', () => {
  test('a removed file: no run is acknowledged from then on, and health reports the reason', async () => {
    const path = temporaryDatabase()
    const store = await opened({ path, watchIntervalMs: 600_000 }) // the commit itself notices
    await create(store, 'run-1')
    rmSync(path)
    await expect(create(store, 'run-2')).rejects.toMatchObject({
      code: 'unavailable',
      internalMessage: expect.stringContaining(
        'the database file was removed or renamed while it was in use',
      ) as string,
    })
    expect(store.health()).toEqual({ ok: false, reason: expect.stringContaining('was removed') as string })
    await expect(create(store, 'run-3')).rejects.toMatchObject({ code: 'unavailable' })
    expect(await store.get('run-1')).toBeDefined()
  })

  test('a file that is removed with its journal while idle: health fails, and no empty store is created', async () => {
    const path = temporaryDatabase()
    await (await openSqliteStore({ path })).close()
    const store = await opened({ path }) // nothing is written, so that only the check of the idle file notices
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
    expect(await untilHealth(store, false)).toContain('was removed')
    await store.close()
    expect(existsSync(path)).toBe(false)
  })

  test('a renamed file that is put back is used again without loss', async () => {
    const path = temporaryDatabase()
    const store = await opened({ path })
    await create(store, 'run-1')
    renameSync(path, `${path}.away`)
    expect(await untilHealth(store, false)).toContain('put it back')
    renameSync(`${path}.away`, path)
    await untilHealth(store, true)
    await create(store, 'run-2')
    expect(await store.get('run-1')).toBeDefined()
  })

  test('a file that is replaced by a copy of itself: the copy is not written to, nor opened instead', async () => {
    const path = temporaryDatabase()
    const opening = vi.spyOn(CommittingThreadHandle, 'open')
    onTestFinished(() => opening.mockRestore())
    const info = vi.fn<() => void>()
    const store = await opened({ path, watchIntervalMs: 600_000, logger: { ...silentLogger, info } })
    await create(store, 'run-1')
    copyFileSync(path, `${path}.copy`)
    const copy = readFileSync(`${path}.copy`)
    renameSync(`${path}.copy`, path)
    await expect(create(store, 'run-2')).rejects.toMatchObject({
      code: 'unavailable',
      internalMessage: expect.stringContaining('was replaced by another one') as string,
    })
    await until('it was tried to open the file again', () => opening.mock.calls.length >= 4 || store.health().ok)
    expect(store.health().ok).toBe(false)
    expect(info).not.toHaveBeenCalled()
    expect(readFileSync(path).equals(copy)).toBe(true)
  })

  test('[LOG-4] a file that another process opened during an outage is not taken back', async () => {
    const path = temporaryDatabase()
    const store = await opened({ path })
    await create(store, 'run-1')
    renameSync(path, `${path}.away`)
    await untilHealth(store, false)
    for (const suffix of ['-wal', '-shm']) copyFileSync(path + suffix, `${path}.away${suffix}`)
    {
      using other = new DatabaseSync(`${path}.away`)
      other.exec("UPDATE instance SET token = 'of another process'; PRAGMA wal_checkpoint(TRUNCATE)")
    }
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
    renameSync(`${path}.away`, path)
    const found = await until('the file was opened again', () => {
      const health = store.health()
      return health.ok ? 'taken back' : health.reason.includes('was removed') ? undefined : health.reason
    })
    expect(found).toContain('another process has opened the database file')
    expect(valueIn(path, 'SELECT token FROM instance')).toBe('of another process')
  })
})

test('SQLite: a write-ahead log that another program keeps from being checkpointed causes a warning until that program ends its read', async () => {
  const path = temporaryDatabase()
  const reported: string[] = []
  const tell = (_fields: object, message: string): void => void reported.push(message)
  const store = await opened({ path, walWarningBytes: 1e6, logger: { ...silentLogger, warn: tell, info: tell } })
  const reader = new DatabaseSync(path)
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM runs').get()
  const write = async (): Promise<void> => {
    const body = { text: 'x'.repeat(100_000) }
    for (let id = 0; id < 20; id++)
      await store.documents.put({ owner: 'anna', collection: 'notes', id: String(id), body })
  }
  await write()
  const warning = await until(
    'health warns',
    () => {
      const health = store.health()
      return health.alarms?.[0]
    },
    PATIENCE,
  )
  expect(warning).toContain('another program keeps reading the database')
  expect(reported).toEqual([warning])
  reader.close()
  await until(
    'the warning is gone',
    () => {
      const health = store.health()
      return health.ok && health.alarms === undefined
    },
    PATIENCE,
  )
  expect(reported).toEqual([warning, 'the write-ahead log can be checkpointed again'])
})

test('SQLite: reads succeed while a write waits for the disk', async () => {
  const path = temporaryDatabase()
  const before = await openSqliteStore({ path })
  await create(before, 'run-1')
  await before.documents.put({ owner: 'anna', collection: 'notes', id: 'note', body: 1 })
  await before.close()
  const store = await opened({ path })
  using other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE') // the next commit waits for this lock, as it would for a disk
  const created = vi.fn<() => void>()
  const creating = create(store, 'run-2').then(created)
  expect(await store.documents.get('anna', 'notes', 'note')).toMatchObject({ body: 1 })
  expect(created).not.toHaveBeenCalled()
  other.exec('ROLLBACK')
  await creating
})

describe('SQLite: a store that another program reads while it is opened', () => {
  /** A file with an open transaction on it, as a backup has one. */
  async function readFile(): Promise<{ path: string; reader: DatabaseSync }> {
    const path = temporaryDatabase()
    const store = await openSqliteStore({ path })
    await create(store, 'run-1')
    await store.close()
    const reader = new DatabaseSync(path)
    onTestFinished(() => {
      if (reader.isOpen) reader.close()
    })
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM runs').get()
    return { path, reader }
  }

  test('waits until that has finished, and says so', async () => {
    const { path, reader } = await readFile()
    const waiting = Promise.withResolvers<string>()
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => waiting.resolve(message) }
    const opening = opened({ path, logger })
    expect(await waiting.promise).toContain(`another program is reading ${path}`)
    reader.close()
    expect(await (await opening).get('run-1')).toBeDefined()
  })

  test('gives up after a while with an error that may be retried', async () => {
    const { path } = await readFile()
    await expect(openSqliteStore({ path, readerTimeoutMs: 0 })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('start again when it has finished') as string,
    })
  })
})
