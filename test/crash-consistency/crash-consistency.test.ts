/**
 * The SQLite store below its seam: a workload is traced once, and the store is opened from what a loss of power leaves at any of its
 * system calls, with writes that were not synced dropped, reordered and torn.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, onTestFailed, test } from 'vitest'
import { INSTALL_MS } from '../support/apt.ts'
import { ensureStrace } from '../support/disk-faults.ts'
import { Random, testSeed } from '../support/random.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { Disk, type Survival } from './disk.ts'
import { Expectation, type Records, type Step } from './expectation.ts'
import { type Operation, readTrace, traceCommand } from './trace.ts'

/** States that are opened; `HOLDFAST_CRASH_STATES=all` opens those of every system call. */
const STATES = process.env['HOLDFAST_CRASH_STATES'] ?? '40'
const SEED = testSeed()
const TIMEOUT_MS = 24 * 60 * 60_000

beforeAll(ensureStrace, INSTALL_MS)

function survivals(random: Random): Readonly<Record<string, Survival>> {
  const some = (share: number): Survival => ({
    change: () => random.chance(share),
    names: (pending) => random.between(0, pending),
  })
  return {
    'nothing unsynced': { change: () => false, names: () => 0 },
    everything: { change: () => true, names: (pending) => pending },
    'half of the sectors': some(0.5),
    'most of the sectors': some(0.95),
  }
}

test(
  '[LOG-1] [LOG-2] [LOG-3] [LOG-4] a loss of power at any system call loses nothing that was acknowledged',
  async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'traced', 'holdfast.db')
    const records = join(folder, 'records.json')
    await traceCommand(
      [process.execPath, join(import.meta.dirname, 'workload.ts'), path, records],
      join(folder, 'trace'),
    )
    const operations = await readTrace(join(folder, 'trace'), path)
    const written = JSON.parse(readFileSync(records, 'utf8')) as Records
    expect(operations.filter(({ kind }) => kind === 'sync').length).toBeGreaterThan(10)

    const random = new Random(SEED)
    const cuts = chosen(operations, random)
    let tried = 'nothing'
    onTestFailed(() => console.error(`HOLDFAST_TEST_SEED=${SEED}: ${tried} of ${operations.length} system calls`))
    const disk = new Disk()
    const expectation = new Expectation()
    const variants = Object.entries(survivals(random))
    let states = 0
    for (const [at, operation] of operations.entries()) {
      if (operation.kind === 'said') expectation.note(JSON.parse(operation.line) as Step)
      disk.perform(operation)
      if (!cuts.has(at)) continue
      for (const [name, survival] of STATES === 'all' ? variants : [variants[states % variants.length]!]) {
        tried = `the power was lost after ${at + 1} (${operation.kind}), with ${name} left,`
        const left = join(folder, 'left')
        disk.leave(left, survival)
        expect(await expectation.problemsOf(join(left, 'holdfast.db'), written), tried).toEqual([])
        states++
        if (states % 100 === 0) console.log(`${states} states, ${at + 1} of ${operations.length} system calls`)
      }
    }
    expect(states).toBeGreaterThanOrEqual(Math.min(cuts.size, 1))
  },
  TIMEOUT_MS,
)

function chosen(operations: readonly Operation[], random: Random): ReadonlySet<number> {
  if (STATES === 'all') return new Set(operations.keys())
  return new Set(Array.from({ length: Number(STATES) }, () => random.between(0, operations.length - 1)))
}
