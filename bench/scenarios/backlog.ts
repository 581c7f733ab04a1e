/** Many short runs, faster than compaction, followed by a crash. */
import { join } from 'node:path'
import type { Scenario } from '../bench.ts'
import { atMost, noted, show } from '../figures.ts'
import { InstalledServer, timeToAnswer } from '../installed.ts'
import { startShortRuns } from '../short-runs.ts'

const STARTERS = 64
const MB = 1e6

export const backlog: Scenario = {
  name: 'backlog',
  about: '64 clients start short runs as fast as they are answered; then kill -9, and the next start',
  async run(bench) {
    const seconds = bench.quick ? 5 : 25
    const path = join(bench.folder(), 'holdfast.db')
    const parameters = serving(bench.built, path)
    const server = bench.keep(await InstalledServer.start(parameters))
    const end = performance.now() + seconds * 1000
    const { started, refused } = await startShortRuns(server.url, STARTERS, () => performance.now() >= end)
    const { peakBytes } = server.memory()
    await server.stop()
    const again = await timeToAnswer(parameters, '/runs?limit=1')
    const after = bench.keep(again.server).memory()
    await again.server.stop()
    bench.note(`${show(started)} runs started, ${show(refused)} starts put off`)
    return [
      noted('backlog: short runs started per second', started / seconds, '/s'),
      atMost('backlog: resident memory at most', 1000, peakBytes / MB, ' MB'),
      atMost('backlog: start to first answer after kill -9', 5000, again.ms, ' ms'),
      atMost('backlog: resident memory after that start', 500, after.rssBytes / MB, ' MB'),
    ]
  },
}

/** The lab without per-principal limits. */
export function serving(built: string, path: string): string[] {
  const program = join(built, 'src', 'cli', 'main.js')
  const unlimited = ['--max-starts-per-second', '0', '--max-requests-per-second', '0']
  return [program, 'demo', '--lab', '--port', '0', '--store', `sqlite:${path}`, ...unlimited]
}
