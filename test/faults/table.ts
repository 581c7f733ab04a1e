/** Output of a campaign: a Markdown table with one row per round. */
import type { Round } from './campaign.ts'

export interface Totals {
  rounds: number
  injected: number
  runs: number
  events: number
  violations: number
  readonly skipped: string[]
}

const COLUMNS = [
  'store',
  'fault',
  'round',
  'injected',
  'runs',
  'events',
  'outcomes',
  'lost a worker',
  'slowest recovery',
  'slowest end',
  'violations',
]

export function headerRow(): string {
  return `${row(COLUMNS)}\n${row(COLUMNS.map(() => '---'))}`
}

/** Formats a round as a row and adds it to the totals. */
export function roundRow(store: string, fault: string, round: Round, totals: Totals): string {
  const { runs, events, outcomes, lost, slowest_s: slowest, violations, examples } = round.verdict
  const recovery = lost === 0 ? '' : `${Math.max(round.verdict.slowest_recovery_s, 0).toFixed(1)} s`
  const found = Object.entries(violations).filter(([, count]) => count > 0)
  totals.rounds++
  totals.injected += round.injected
  totals.runs += runs
  totals.events += events
  totals.violations += found.reduce((sum, [, count]) => sum + count, 0)
  const line = row([
    `${store} (${round.version})`,
    fault,
    String(round.number),
    String(round.injected),
    String(runs),
    String(events),
    Object.entries(outcomes)
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
    String(lost),
    recovery,
    `${slowest.toFixed(1)} s`,
    found.length === 0 ? '0' : found.map(([name, count]) => `${name}: ${count}`).join(', '),
  ])
  if (found.length === 0) return line
  return [line, `history: ${round.history}`, ...Object.values(examples).flat()].join('\n')
}

export function summary({ rounds, injected, runs, events, violations, skipped }: Totals): string {
  const judged = `${rounds} rounds, ${injected} injections, ${runs} runs, ${events} events, ${violations} violations`
  return [judged, ...skipped.map((reason) => `skipped: ${reason}`)].join('\n')
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}
