import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defects } from './defects.ts'
import { withDefect } from './load-defect.ts'
import { planOf, withoutFaults } from './plan.ts'
import { RangeSum } from './range-sum.ts'
import { runCampaign } from './seed-campaign.ts'
import { type RangeResult, simulateRange } from './seed-range.ts'
import { shrink } from './shrink.ts'
import { simulate } from './world.ts'

/** Of every seed a different stretch of the schedule is explored, so any number of them is a test; these fit into the suite. */
const SEEDS = 60
const SEEDS_MS = 30_000

describe('[LOG-1] [LOG-2] [LOG-3] [LOG-4] [LOG-5] [RUN-1] [RUN-2] [RUN-3] [RUN-4] [RUN-5] [RUN-6] [EVT-1] [STO-2] [SUB-1] [SUB-2]', () => {
  test('simulation: no seed breaks an invariant', { timeout: 300_000 }, async () => {
    const begun = performance.now()
    let seeds = 0
    for (; seeds < SEEDS && performance.now() - begun < SEEDS_MS; seeds++) {
      const { violation } = await simulate(planOf(1 + seeds))
      expect(violation?.message, `npm run simulate -- --seed ${1 + seeds} --trace`).toBeUndefined()
    }
    console.info(`simulation: ${seeds} seeds in ${Math.round(performance.now() - begun)} ms`)
  })
})

test('simulation: a seed produces the same trace, whatever was simulated before', async () => {
  const first = await simulate(planOf(7), { trace: true })
  await simulate(planOf(8))
  const second = await simulate(planOf(7), { trace: true })
  expect(second.trace).toEqual(first.trace)
  expect(second.hash).toBe(first.hash)
  expect((await simulate(planOf(7))).hash, 'keeping no trace changes nothing').toBe(first.hash)
  expect((await simulate(planOf(8))).hash).not.toBe(first.hash)
})

test('[RUN-3] simulation: a run that is answered while another branch of it writes is not reported as interrupted', async () => {
  for (const seed of [279, 579]) {
    const { violation } = await simulate(withoutFaults(planOf(seed)))
    expect(violation?.message, `seed ${seed} without faults`).toBeUndefined()
  }
})

test('simulation: several threads report the same seeds as one, in order', { timeout: 120_000 }, async () => {
  const size = { nodes: 2, runs: 2 }
  const reported: RangeResult[] = []
  const sum = new RangeSum(11)
  await runCampaign({
    from: 11,
    seeds: 50,
    seconds: Infinity,
    size,
    workers: 2,
    keepGoing: true,
    onRange: (range) => {
      reported.push(range)
      sum.add(range)
    },
    signal: new AbortController().signal,
  })
  expect(reported.map(({ from, to }) => [from, to])).toEqual([
    [11, 30],
    [31, 50],
    [51, 60],
  ])
  const { cpuSeconds: _ours, ...expected } = await simulateRange({ from: 11, to: 60, size })
  const { cpuSeconds: _theirs, ...counted } = sum.result
  expect(counted).toEqual(expected)
})

test('simulation: every seed has its own plan, the same each time', () => {
  expect(planOf(5)).toEqual(planOf(5))
  expect(planOf(5)).not.toEqual(planOf(6))
})

/** After the seed of the table, which a change to core may have made another one. */
const SEEDS_PER_DEFECT = 100

test('simulation: the text that each seeded defect replaces is in its file once', () => {
  for (const defect of defects)
    withDefect(readFileSync(new URL(`../../${defect.file}`, import.meta.url), 'utf8'), defect)
  expect(new Set(defects.map(({ id }) => id)).size).toBe(defects.length)
  expect(defects.length).toBeGreaterThanOrEqual(25)
  const documented = readFileSync(new URL('../../docs/simulation.md', import.meta.url), 'utf8')
  for (const { id, file, invariant, seed } of defects)
    expect(documented).toContain(`| ${id} | \`${file.replace('src/', '')}\` | ${invariant} | ${seed} |`)
})

test('simulation: every seeded defect is found', { timeout: 600_000 }, async () => {
  const program = new URL('find-defects.ts', import.meta.url).pathname
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', program, '--known', '--seeds', String(SEEDS_PER_DEFECT)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  onTestFinished(() => void child.kill())
  const found: string[] = []
  for await (const line of createInterface(child.stdout)) {
    const { id, invariant } = JSON.parse(line) as { readonly id: string; readonly invariant?: string }
    if (invariant !== undefined) found.push(id)
  }
  expect(found).toEqual(defects.map(({ id }) => id))
})

test('simulation: a failing plan is shrunk, and still fails in the same way', async () => {
  // A world without time to wait: a run never gets what it needs, so the liveness bound is violated.
  const plan = { ...planOf(3), nodes: 1, slots: 0, faults: [], runs: planOf(3).runs.slice(0, 3) }
  const { violation } = await simulate(plan)
  expect(violation?.invariant).toBe('RUN-1')
  const shrunk = await shrink(plan, 'RUN-1')
  expect(shrunk.outcome.violation?.invariant).toBe('RUN-1')
  expect(shrunk.plan.runs).toHaveLength(1)
  expect(shrunk.plan.runs[0]!.script).toEqual([])
})
