import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from '../tables/schema.ts'
import { finishDeletions, SegmentDeletion } from './segment-deletion.ts'

const SEGMENT_BYTES = 64 * 1024
/** Segments per slice, and beside other work. */
const SLICE = 64
const SHARE = 4

/** A database with one run per number, all of one owner; each has that number of segments of one record. */
function databaseWith(...segments: readonly number[]): DatabaseSync {
  const database = new DatabaseSync(':memory:')
  onTestFinished(() => database.close())
  migrate(database, ':memory:')
  const addRun = database.prepare(
    `INSERT INTO runs (number, id, owner, component, session, status, created, epoch, first, next, run)
       VALUES (?, ?, 'anna', 'agent', 'session', 'completed', '2026-01-01', 0, 0, ?, '{}')`,
  )
  const addSegment = database.prepare('INSERT INTO segments (run, first, count, data) VALUES (?, ?, 1, zeroblob(?))')
  segments.forEach((count, at) => {
    addRun.run(at + 1, `run_${at + 1}`, count)
    for (let first = 0; first < count; first++) addSegment.run(at + 1, first, SEGMENT_BYTES)
  })
  return database
}

function countOf(database: DatabaseSync, what: string): number {
  return Number(database.prepare(`SELECT count(*) AS found FROM ${what}`).get()!['found'])
}

/** Segments that count as the owner's usage. */
function charged(database: DatabaseSync): number {
  return Number(database.prepare('SELECT sum(log_bytes) AS bytes FROM usage').get()!['bytes']) / SEGMENT_BYTES
}

function remove(database: DatabaseSync, deletion: SegmentDeletion, run: number): void {
  deletion.remove(run)
  database.prepare('DELETE FROM runs WHERE number = ?').run(run)
}

test('[STO-1] SQLite: a run of ordinary size is removed by one commit', () => {
  const database = databaseWith(SLICE, 3)
  const deletion = new SegmentDeletion(database)
  remove(database, deletion, 1)
  expect(deletion.more).toBe(false)
  expect(countOf(database, 'deletions')).toBe(0)
  expect(countOf(database, 'segments')).toBe(3)
  expect(charged(database)).toBe(3)
})

test('[STO-1] SQLite: a giant run is removed in slices, small ones beside other work, and is not usage meanwhile', () => {
  const database = databaseWith(3 * SLICE, 3)
  const deletion = new SegmentDeletion(database)
  remove(database, deletion, 1)
  const left: number[] = []
  for (const isIdle of [false, false, true, true, true]) {
    deletion.run(isIdle)
    left.push(countOf(database, 'segments WHERE run = 1'))
    expect(charged(database)).toBe(3)
    const pending = database.prepare('SELECT bytes FROM deletions').get()?.['bytes'] ?? 0
    expect(pending).toBe(left.at(-1)! * SEGMENT_BYTES)
    expect(deletion.more).toBe(left.at(-1)! > 0)
  }
  expect(left).toEqual([3 * SLICE - SHARE, 3 * SLICE - 2 * SHARE, 2 * SLICE - 2 * SHARE, SLICE - 2 * SHARE, 0])
  expect(countOf(database, 'segments')).toBe(3)
})

test('[STO-1] SQLite: many removals in one commit delete no more than one slice together', () => {
  const runs = Array.from({ length: 40 }, () => 4)
  const database = databaseWith(...runs, 2)
  const deletion = new SegmentDeletion(database)
  runs.forEach((_, at) => remove(database, deletion, at + 1))
  deletion.run(false)
  expect(countOf(database, 'segments')).toBe(40 * 4 - SLICE + 2)
  expect(charged(database)).toBe(2)
  deletion.run(true)
  deletion.run(true)
  expect(deletion.more).toBe(false)
  expect(countOf(database, 'segments')).toBe(2)
})

test('[STO-1] SQLite: a giant range is trimmed in slices; a later trim and a removal include what is left of it', () => {
  const database = databaseWith(5 * SLICE, 3)
  const deletion = new SegmentDeletion(database)
  const trim = (before: number): void => {
    deletion.trim(1, before)
    deletion.run(false)
  }
  trim(2 * SLICE)
  expect(countOf(database, 'segments WHERE run = 1')).toBe(5 * SLICE - SHARE)
  expect(charged(database)).toBe(3 * SLICE + 3)
  trim(3 * SLICE)
  expect(countOf(database, 'segments WHERE run = 1')).toBe(5 * SLICE - 2 * SHARE)
  expect(charged(database)).toBe(2 * SLICE + 3)
  deletion.run(true)
  expect(charged(database)).toBe(2 * SLICE + 3)
  remove(database, deletion, 1)
  expect(charged(database)).toBe(3)
  finishDeletions(database)
  expect(countOf(database, 'segments')).toBe(3)
  expect(countOf(database, 'deletions')).toBe(0)
  expect(charged(database)).toBe(3)
})

test('[STO-1] SQLite: the slices of a trim end at its index', () => {
  const database = databaseWith(3 * SLICE)
  const deletion = new SegmentDeletion(database)
  deletion.trim(1, 2 * SLICE)
  finishDeletions(database)
  expect(countOf(database, `segments WHERE first >= ${2 * SLICE}`)).toBe(SLICE)
  expect(countOf(database, 'segments')).toBe(SLICE)
  expect(charged(database)).toBe(SLICE)
})
