/** Hostile connections beside honest runs: a short form of `npm run abuse`, which also judges latency. */
import { expect, test } from 'vitest'
import { abuse } from '../abuse/abuse.ts'
import { attacks } from '../abuse/attacks.ts'

test(
  '[SEC-2] [SUB-1] a hundred hostile connections cost honest runs no event, and memory stays bounded',
  { timeout: 300_000 },
  async () => {
    // `seconds` is how long the abuse lasts.
    const report = await abuse({ connections: 100, runs: 10, seconds: 5, floodPerSecond: 200 })
    expect(report.quiet.problems).toEqual([])
    expect(report.abused.problems).toEqual([])
    expect(Object.keys(report.hostile.opened).toSorted()).toEqual(Object.keys(attacks).toSorted())
    expect(report.abusedMegabytes - report.quietMegabytes).toBeLessThan(256)
  },
)
