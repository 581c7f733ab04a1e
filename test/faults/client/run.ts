/** `npm run faults:client [-- --seconds 600]`: React views behind a hostile proxy; one table row per wave, exit code 1 if a view did not finish. */
import { parseArgs } from 'node:util'
import { tortureViews } from './torture.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    views: { type: 'string', default: '52' },
    'away-ms': { type: 'string', default: '0' },
    'idle-timeout-ms': { type: 'string', default: '6000' },
    retries: { type: 'string', default: '50' },
    /** Print the history of the slowest view of each wave. */
    history: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const options = {
  views: Number(values.views),
  forMs: Number(values.seconds) * 1000,
  waveMs: 300_000,
  killEveryMs: 20_000,
  awayMs: Number(values['away-ms']),
  script: 'text 60 every 150',
  texts: 60,
  idleTimeoutMs: Number(values['idle-timeout-ms']),
  retries: Number(values.retries),
  seed: Number(values.seed),
}
if (Object.values(options).some((value) => typeof value === 'number' && !Number.isInteger(value))) {
  console.error('--seconds, --views, --away-ms, --idle-timeout-ms, --retries and --seed take whole numbers')
  process.exit(2)
}

console.log(`seed ${options.seed}; ${options.views} views per wave\n`)
console.log('| wave | finished | wrong | took |\n| --- | --- | --- | --- |')
const { waves, kills, faults } = await tortureViews(options, ({ number, finished, wrong, tookMs, slowest }) => {
  console.log(`| ${number} | ${finished} of ${options.views} | ${wrong.length} | ${(tookMs / 1000).toFixed(0)} s |`)
  for (const problem of wrong) console.log(problem)
  if (values.history) console.log(slowest)
})
const finished = waves.reduce((sum, wave) => sum + wave.finished, 0)
const wrong = waves.reduce((sum, wave) => sum + wave.wrong.length, 0)
const total = waves.length * options.views
console.log(
  `\n${finished} of ${total} views finished, ${wrong} wrong; ${kills} kills; faults: ${JSON.stringify(faults)}`,
)
process.exit(finished === total && wrong === 0 ? 0 : 1)
