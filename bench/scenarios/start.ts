/** Startup time of the built package with existing runs, up to the first response. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench, Scenario } from '../bench.ts'
import { atMost, median, show } from '../figures.ts'
import type { FinishedRuns } from '../finished-runs.ts'
import { timeToAnswer } from '../installed.ts'

const RUNS = 10_000
const EVENTS_PER_RUN = 50

export const start: Scenario = {
  name: 'start',
  about: 'from start to first answer, the built package with 10,000 finished runs in its database',
  async run(bench) {
    const program = join(bench.built, 'src', 'cli', 'main.js')
    const path = await fill(bench)
    bench.note(`database of ${show(statSync(path).size / 1e6)} MB`)
    const kinds = {
      plain: ['--input-type=module', '--eval', PLAIN],
      holdfast: [program, 'demo', '--port', '0', '--store', `sqlite:${path}`],
    }
    const times = { plain: [] as number[], holdfast: [] as number[] }
    // The first round warms the file cache.
    for (let round = -1; round < bench.rounds * 3; round++) {
      for (const kind of ['plain', 'holdfast'] as const) {
        const { ms, server } = await timeToAnswer(kinds[kind], '/runs?limit=1')
        await server.stop()
        if (round >= 0) times[kind].push(ms)
      }
    }
    const plain = median(times.plain)
    const holdfast = median(times.holdfast)
    bench.note(`plain ${show(plain)} ms, holdfast ${show(holdfast)} ms`)
    return [
      atMost('start to first answer, 10,000 finished runs', 200, holdfast, ' ms'),
      atMost('start to first answer, above plain', 100, holdfast - plain, ' ms'),
    ]
  },
}

const PLAIN = `import { createServer } from 'node:http'
const server = createServer((request, response) => response.end('{}'))
server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port))`

async function fill(bench: Bench): Promise<string> {
  const request: FinishedRuns = { path: join(bench.folder(), 'holdfast.db'), runs: RUNS, eventsPerRun: EVENTS_PER_RUN }
  const [channel] = await bench.processes.start('finished-runs.js', [])
  await channel.ask(request)
  channel.end()
  await channel.exited()
  return request.path
}
