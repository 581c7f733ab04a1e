import { readFileSync, writeFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryDatabase } from '../../../../test/support/temporary.ts'
import { recordOf } from '../../../testing/fixtures.ts'
import type { CommitRequest } from './committing-messages.ts'
import { Committer } from './committer.ts'
import { openDatabase } from '../file/database-file.ts'
import { SEGMENT_BYTES } from '../tables/segment.ts'

const IDLE: CommitRequest = {
  data: new Uint8Array(0),
  directory: new Int32Array(0),
  rows: [],
  ended: [],
  trimmed: [],
  quarantined: [],
  removed: [],
  documents: [],
  compact: 'share',
}

function committer(path = temporaryDatabase(), token = 'token'): Committer {
  const options = { path, token, reopen: undefined, walWarningBytes: Infinity }
  const opened = new Committer({ ...options, readerTimeoutMs: 0 }, () => {})
  onTestFinished(() => opened.close())
  return opened
}

/** One record of each run. */
function firstRecords(runs: readonly number[], chars: number): CommitRequest {
  const records = runs.map((run) =>
    Buffer.from(
      recordOf(`run_${run}`, 0, '2026-01-01T00:00:00.000Z', {
        type: 'text.delta',
        data: { text: 'x'.repeat(chars) },
      }),
    ),
  )
  const directory = runs.flatMap((run, at) => [run, 0, 1, records[at]!.length])
  return { ...IDLE, data: Buffer.concat(records), directory: Int32Array.from(directory) }
}

/** Sealed runs of a commit. */
function sealedBy(opened: Committer, request: CommitRequest): number {
  const reply = opened.commit(request)
  if (reply.kind !== 'committed') throw new Error(JSON.stringify(reply))
  return reply.sealed.length / 2
}

test('[STO-1] SQLite: each commit compacts twice the bytes that it writes, and at least 16 KiB', () => {
  const opened = committer()
  const backlog = Array.from({ length: 200 }, (_, run) => run + 1)
  expect(sealedBy(opened, firstRecords(backlog, 32 * 1024))).toBe(0)
  expect(sealedBy(opened, { ...IDLE, ended: backlog })).toBe(1) // 16 KiB are less than one run's records
  let next = backlog.length
  for (let round = 0; round < 5; round++) {
    const written = firstRecords([++next, ++next, ++next, ++next], 48 * 1024)
    expect(written.data.length).toBeLessThan(4 * SEGMENT_BYTES) // none of them is ready itself
    expect(sealedBy(opened, written)).toBe(12)
  }
})

test('[LOG-4] SQLite: a commit fails once another process has opened the file', () => {
  const path = temporaryDatabase()
  const first = committer(path, 'first')
  expect(first.commit(IDLE)).toMatchObject({ kind: 'committed' })
  committer(path, 'second')
  expect(first.commit(firstRecords([1], 10))).toMatchObject({ kind: 'failed', because: 'fenced' })
})

test('[STO-1] SQLite: a damaged page that vacuum would move fails one commit, and not another', () => {
  const path = temporaryDatabase()
  {
    using database = openDatabase(path)
    const add = database.prepare('INSERT INTO segments (run, first, count, data) VALUES (?, ?, 1, ?)')
    const data = Buffer.alloc(SEGMENT_BYTES)
    for (let first = 0; first < 400; first++) add.run(1, first, data)
    data.write('the damaged page', SEGMENT_BYTES / 2)
    add.run(2, 0, data)
    database.exec('DELETE FROM segments WHERE run = 1') // 25 MB of free pages before it
  }
  const bytes = readFileSync(path)
  const at = bytes.indexOf('the damaged page')
  bytes.writeUInt32BE(0x7fffffff, at - (at % 4096)) // the link of an overflow page
  writeFileSync(path, bytes)
  const compact = { ...IDLE, compact: 'ready' } as const
  expect(committer(path).commit(compact)).toMatchObject({ kind: 'failed', message: expect.stringMatching('malformed') })
  const again = committer(path)
  for (let commit = 0; commit < 3; commit++)
    expect(again.commit(compact)).toMatchObject({ kind: 'committed', more: false })
})
