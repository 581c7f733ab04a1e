import { describe, expect, test } from 'vitest'
import { recordOf } from '../../../testing/fixtures.ts'
import { Compaction, type Segment, type CompactionShare } from './compaction.ts'
import { SEGMENT_BYTES } from '../tables/segment.ts'

const EVERYTHING: CompactionShare = { bytes: Infinity, segments: Infinity, all: true }
const READY: CompactionShare = { ...EVERYTHING, all: false }

/** A log as the store writes it: one row per commit. */
class Log {
  readonly compaction = new Compaction()
  readonly written = new Map<number, Buffer[]>()
  readonly next = new Map<number, number>()
  #seq = 0
  now = 0

  /** One commit with some records of each run. */
  commit(runs: readonly number[], count: number, chars = 10): number {
    const directory: number[] = []
    const parts: Buffer[] = []
    for (const run of runs) {
      const first = this.next.get(run) ?? 0
      const bytes = Buffer.from(Array.from({ length: count }, (_, at) => record(run, first + at, chars)).join(''))
      directory.push(run, first, count, bytes.length)
      parts.push(bytes)
      this.next.set(run, first + count)
      this.written.set(run, [...(this.written.get(run) ?? []), bytes])
    }
    const data = Buffer.concat(parts)
    this.compaction.add(++this.#seq, data, Int32Array.from(directory), this.now)
    return data.length
  }

  end(run: number): void {
    this.compaction.ended(run)
  }

  expectWhole(segments: readonly Segment[]): void {
    for (const [run, written] of this.written) {
      const own = segments.filter((segment) => segment.run === run)
      let next = 0
      for (const { first, count } of own) {
        expect(first).toBe(next)
        next += count
      }
      expect(next).toBe(this.next.get(run))
      expect(Buffer.concat(own.map(({ bytes }) => bytes)).equals(Buffer.concat(written))).toBe(true)
    }
  }
}

function record(run: number, index: number, chars: number): string {
  const data = { text: 'x'.repeat(chars) }
  return recordOf(`run_${run}`, index, '2026-01-01T00:00:00.000Z', { type: 'text.delta', data })
}

describe('[STO-1] SQLite: compaction', () => {
  test('writes no segment that is larger than the bound, unless it is one record', () => {
    const log = new Log()
    for (let round = 0; round < 40; round++) log.commit([1], 100, 100)
    log.commit([1], 1, 3 * SEGMENT_BYTES)
    log.commit([1], 5, SEGMENT_BYTES / 2)
    const segments = log.compaction.take(EVERYTHING, 0)
    log.expectWhole(segments)
    for (const { bytes, count } of segments) expect(bytes.length <= SEGMENT_BYTES || count === 1).toBe(true)
  })

  test('compaction of a whole run at once keeps the bound', () => {
    const log = new Log()
    log.commit([1], 2000, 100)
    const segments = log.compaction.takeRun(1)
    log.expectWhole(segments)
    expect(segments.length).toBeGreaterThan(5)
    expect(log.compaction.takeFreed()).toEqual([1])
  })

  test('compaction at twice the write rate leaves no backlog of short runs', () => {
    const log = new Log()
    const segments: Segment[] = []
    let run = 0
    let behind = 0
    for (let round = 0; round < 300; round++) {
      const runs = Array.from({ length: 20 }, () => ++run)
      const bytes = log.commit(runs, 5)
      for (const each of runs) log.end(each)
      segments.push(...log.compaction.take({ bytes: 2 * bytes, segments: Infinity, all: false }, 0))
      behind = Math.max(behind, run - segments.length)
    }
    expect(behind).toBeLessThan(100)
    log.expectWhole([...segments, ...log.compaction.take(EVERYTHING, 0)])
  })

  test('takes turns between a long run and short ones', () => {
    const log = new Log()
    log.commit([1], 20_000, 10)
    for (let run = 2; run < 12; run++) {
      log.commit([run], 3)
      log.end(run)
    }
    const segments = log.compaction.take({ bytes: 2 * SEGMENT_BYTES, segments: Infinity, all: false }, 0)
    expect(new Set(segments.map(({ run }) => run)).size).toBe(11)
  })

  test('frees a log row when the last of its records is in a segment, and not before', () => {
    const log = new Log()
    log.commit([1, 2], 3)
    log.commit([2], 200)
    expect(log.compaction.take(READY, 0).map(({ run }) => run)).toEqual([2])
    expect(log.compaction.takeFreed()).toEqual([2])
    log.end(1)
    log.compaction.take(READY, 0)
    expect(log.compaction.takeFreed()).toEqual([1])
  })

  test('frees rows that are old, or many bytes, though their runs have few records', () => {
    const log = new Log()
    for (let run = 0; run < 50; run++) log.commit([run], 2)
    expect(log.compaction.take(READY, 9000)).toEqual([])
    expect(log.compaction.take({ ...READY, segments: 5 }, 10_000).map(({ run }) => run)).toEqual([0, 1, 2, 3, 4])
    log.now = 10_000
    for (let run = 100; run < 500; run++) log.commit([run], 1, 50_000)
    expect(log.compaction.take(READY, 10_001).length).toBeGreaterThan(45)
  })

  test('compaction skips dropped runs and frees their rows', () => {
    const log = new Log()
    log.commit([1, 2], 100)
    log.compaction.drop(1)
    expect(log.compaction.take(EVERYTHING, 0).map(({ run }) => run)).not.toContain(1)
    expect(log.compaction.takeFreed()).toEqual([1])
  })

  test('compaction of a long backlog takes time in proportion to it', () => {
    const parts = Array.from({ length: 5 }, () => cpuMsOfCompaction(10_000)).reduce((sum, each) => sum + each)
    expect(cpuMsOfCompaction(50_000) / parts).toBeLessThan(3)
  })
})

/** CPU time of compacting a backlog of runs with one record each. */
function cpuMsOfCompaction(count: number): number {
  const log = new Log()
  const runs = Array.from({ length: count }, (_, run) => run)
  for (let at = 0; at < runs.length; at += 1000) log.commit(runs.slice(at, at + 1000), 1)
  let segments = 0
  const before = process.cpuUsage()
  for (let taken; (taken = log.compaction.take({ bytes: Infinity, segments: 100, all: true }, 0)).length > 0;)
    segments += taken.length
  const { user, system } = process.cpuUsage(before)
  expect(segments).toBe(count)
  return (user + system) / 1000
}
