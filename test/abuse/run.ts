/**
 * `npm run abuse [-- --seconds N --connections N --runs N --flood N]`: hostile connections on HTTP, WebSocket and gRPC beside honest
 * runs. Fails when an honest event is lost, when honest deltas come more than three times as late at the 99th percentile as on the same
 * server before, or when the server's memory grows beyond its bound. Also reports the latency while another server is attacked.
 */
import { parseArgs } from 'node:util'
import { abuse } from './abuse.ts'
import { percentile } from './honest.ts'

const LATENCY_RATIO_MAX = 3
/** Below it, the quiet server's latency is that of timers and not of work. */
const LATENCY_MS_MIN = 5
/** What a thousand connections may cost. */
const MEGABYTES_MAX = 512

const options = {
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

const seconds = count('seconds', 3600)
const connections = count('connections', 5000)
const runs = count('runs', 1000)
const floodPerSecond = count('flood', 100_000)

console.log(`${runs} honest runs for ${seconds} s, alone and beside ${connections} hostile connections`)
const { quiet, elsewhere, abused, hostile, quietMegabytes, abusedMegabytes } = await abuse({
  seconds,
  connections,
  runs,
  floodPerSecond,
})
const quietMs = Math.max(percentile(quiet.latencies, 0.99), LATENCY_MS_MIN)
const abusedMs = percentile(abused.latencies, 0.99)
const grown = abusedMegabytes - quietMegabytes

for (const [name, opened] of Object.entries(hostile.opened)) console.log(`  ${name}: ${opened} connections`)
console.log(
  `honest deltas: ${quiet.latencies.length} quiet, ${elsewhere.latencies.length} with another server attacked, ${abused.latencies.length} abused`,
)
for (const share of [0.5, 0.99])
  console.log(
    `p${share * 100}: ${percentile(quiet.latencies, share).toFixed(1)} ms quiet, ${percentile(elsewhere.latencies, share).toFixed(1)} ms with another server attacked, ${percentile(abused.latencies, share).toFixed(1)} ms abused`,
  )
for (const [name, { interruptions }] of Object.entries({ quiet, elsewhere, abused }))
  for (const [why, times] of tally(interruptions))
    console.log(`${name}: ${times} honest clients connected again: ${why}`)
console.log(`server memory: ${quietMegabytes.toFixed(0)} MB quiet, ${abusedMegabytes.toFixed(0)} MB at most abused`)

function tally(texts: readonly string[]): Map<string, number> {
  const times = new Map<string, number>()
  for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1)
  return times
}

const problems = [
  ...quiet.problems.map((problem) => `quiet: ${problem}`),
  ...abused.problems.map((problem) => `abused: ${problem}`),
  ...elsewhere.problems.map((problem) => `another server attacked: ${problem}`),
  ...(abusedMs > quietMs * LATENCY_RATIO_MAX
    ? [
        `p99 is ${(abusedMs / quietMs).toFixed(1)} times that of the quiet server; ${LATENCY_RATIO_MAX} times is allowed`,
      ]
    : []),
  ...(grown > MEGABYTES_MAX ? [`memory grew by ${grown.toFixed(0)} MB; ${MEGABYTES_MAX} MB is allowed`] : []),
]
for (const problem of problems.slice(0, 20)) console.error(`FAILED ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)
