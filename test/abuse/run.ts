/**
 * `npm run abuse [-- --rounds N --seconds N --connections N --runs N --flood N]`: hostile connections on HTTP, WebSocket and gRPC beside
 * honest runs. Fails when an honest event is lost in any round, when the server's memory grows beyond its bound in any round, or when honest
 * deltas come more than three times as late as on the same server before: the 99th percentile of a round, its median over the rounds.
 * Also reports the latency while another server is attacked.
 */
import { parseArgs } from 'node:util'
import { type AbuseReport, abuse } from './abuse.ts'
import { percentile } from './honest.ts'

const LATENCY_RATIO_MAX = 3
/** Below it, the quiet server's latency is that of timers and not of work. */
const LATENCY_MS_MIN = 5
/** Allowed memory for a thousand connections. */
const MEGABYTES_MAX = 512

const options = {
  rounds: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '20' },
  connections: { type: 'string', default: '1000' },
  runs: { type: 'string', default: '100' },
  flood: { type: 'string', default: '500' },
} as const
const { values } = parseArgs({ options })

function count(name: keyof typeof options, max: number): number {
  const given = Number(values[name])
  if (Number.isInteger(given) && given >= 1 && given <= max) return given
  console.error(`--${name} takes a whole number from 1 to ${max}, not "${values[name]}"`)
  process.exit(2)
}

const rounds = count('rounds', 100)
const measured = {
  seconds: count('seconds', 3600),
  connections: count('connections', 5000),
  runs: count('runs', 1000),
  floodPerSecond: count('flood', 100_000),
}

console.log(
  `${rounds} rounds: ${measured.runs} honest runs for ${measured.seconds} s, alone and beside ${measured.connections} hostile connections`,
)
const reports: AbuseReport[] = []
for (let round = 1; round <= rounds; round++) {
  const report = await abuse(measured)
  reports.push(report)
  console.log(`round ${round}`)
  print(report)
}

const quietMs = Math.max(medianP99('quiet'), LATENCY_MS_MIN)
const abusedMs = medianP99('abused')
console.log(
  `median p99: ${quietMs.toFixed(1)} ms quiet, ${medianP99('elsewhere').toFixed(1)} ms with another server attacked, ${abusedMs.toFixed(1)} ms abused (${(abusedMs / quietMs).toFixed(1)} times)`,
)
const problems = [
  ...reports.flatMap(problemsOf),
  ...(abusedMs > quietMs * LATENCY_RATIO_MAX
    ? [
        `p99 is ${(abusedMs / quietMs).toFixed(1)} times that of the quiet server; ${LATENCY_RATIO_MAX} times is allowed`,
      ]
    : []),
]
for (const problem of problems.slice(0, 20)) console.error(`FAILED ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)

function print({ quiet, elsewhere, abused, hostile, quietMegabytes, abusedMegabytes }: AbuseReport): void {
  for (const [name, opened] of Object.entries(hostile.opened)) console.log(`  ${name}: ${opened} connections`)
  console.log(
    `  honest deltas: ${quiet.latencies.length} quiet, ${elsewhere.latencies.length} with another server attacked, ${abused.latencies.length} abused`,
  )
  for (const share of [0.5, 0.99])
    console.log(
      `  p${share * 100}: ${percentile(quiet.latencies, share).toFixed(1)} ms quiet, ${percentile(elsewhere.latencies, share).toFixed(1)} ms with another server attacked, ${percentile(abused.latencies, share).toFixed(1)} ms abused`,
    )
  for (const [name, { interruptions }] of Object.entries({ quiet, elsewhere, abused }))
    for (const [why, times] of tally(interruptions))
      console.log(`  ${name}: ${times} honest clients connected again: ${why}`)
  console.log(`  server memory: ${quietMegabytes.toFixed(0)} MB quiet, ${abusedMegabytes.toFixed(0)} MB at most abused`)
}

function problemsOf(report: AbuseReport, round: number): string[] {
  const grown = report.abusedMegabytes - report.quietMegabytes
  return [
    ...report.quiet.problems.map((problem) => `round ${round + 1}, quiet: ${problem}`),
    ...report.abused.problems.map((problem) => `round ${round + 1}, abused: ${problem}`),
    ...report.elsewhere.problems.map((problem) => `round ${round + 1}, another server attacked: ${problem}`),
    ...(grown > MEGABYTES_MAX
      ? [`round ${round + 1}: memory grew by ${grown.toFixed(0)} MB; ${MEGABYTES_MAX} MB is allowed`]
      : []),
  ]
}

/** One round on a machine with two cores can be off by a factor of two, quiet or not. */
function medianP99(phase: 'quiet' | 'elsewhere' | 'abused'): number {
  return percentile(
    reports.map((report) => percentile(report[phase].latencies, 0.99)).toSorted((a, b) => a - b),
    0.5,
  )
}

function tally(texts: readonly string[]): Map<string, number> {
  const times = new Map<string, number>()
  for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1)
  return times
}
