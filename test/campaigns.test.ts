import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { KILLS_LOG, type KillPart, readParts, SIMULATION_LOG, type SimulationPart } from '../scripts/campaign-log.ts'
import { CAMPAIGNS_PAGE, pageOf, README, SCENARIOS, sentenceOf, withSentence } from '../scripts/campaigns-page.ts'

const kills = readParts<KillPart>(KILLS_LOG)
const seeds = readParts<SimulationPart>(SIMULATION_LOG)
const part = { at: '2026-11-18T02:00:00.000Z', commit: '01234567', minutes: 1, load: 2 }

test('campaigns: the page and the sentence of the README match the logs', () => {
  expect(readFileSync(CAMPAIGNS_PAGE, 'utf8'), 'run node scripts/campaigns-page.ts').toBe(pageOf(kills, seeds))
  const readme = readFileSync(README, 'utf8')
  expect(readme, 'run node scripts/campaigns-page.ts').toBe(withSentence(readme, sentenceOf(kills)))
  for (const { scenario } of kills) expect(Object.keys(SCENARIOS)).toContain(scenario)
})

test('campaigns: a violation is counted, described, and removes the claim that nothing was lost', () => {
  const good = { ...part, scenario: 'sqlite', kills: 1200, runs: 30, records: 500 }
  const bad = {
    ...part,
    scenario: 'nats',
    kills: 7,
    runs: 3,
    records: 5,
    violation: 'run x has 5 events, its client saw 4',
  }
  expect(sentenceOf([good])).toBe(
    '1,200 kills, 0 events lost, 0 duplicated: 1,200 on SQLite, 0 on PostgreSQL, 0 on NATS',
  )
  expect(sentenceOf([good, bad])).toContain('1,207 kills, 1 parts with violations')
  expect(pageOf([good, bad], [])).toContain(
    '- **Violation**, nats, 2026-11-18 02:00, 01234567, load 2: run x has 5 events, its client saw 4',
  )
})

test('campaigns: no seed is counted twice on one commit', () => {
  for (const own of Map.groupBy(seeds, ({ commit }) => commit).values()) {
    const ranges = own.toSorted((a, b) => a.from - b.from)
    for (const [place, { from, to }] of ranges.entries()) {
      expect(to).toBeGreaterThanOrEqual(from)
      expect(from).toBeGreaterThan(ranges[place - 1]?.to ?? 0)
    }
  }
})
