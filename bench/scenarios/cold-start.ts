/** Cost of mounting at startup: Express with one agent, and the same application without it. */
import { join } from 'node:path'
import type { Scenario } from '../bench.ts'
import { atMost, median, show } from '../figures.ts'
import { timeToAnswer } from '../installed.ts'

/** Starts of each application per round of the bench. */
const STARTS_PER_ROUND = 3

export const coldStart: Scenario = {
  name: 'cold-start',
  about: 'from start to first answer of an Express application, with one mounted agent and without',
  async run(bench) {
    const program = join(bench.built, 'bench', 'servers', 'express-app.js')
    const starts = { bare: [] as Start[], mounted: [] as Start[] }
    // The first round warms the file cache.
    for (let round = -1; round < bench.rounds * STARTS_PER_ROUND; round++) {
      for (const kind of ['bare', 'mounted'] as const) {
        const { ms, server } = await timeToAnswer([program, kind, `sqlite:${join(bench.folder(), 'holdfast.db')}`], '/')
        const cpuMs = server.cpuMs()
        await server.stop()
        if (round >= 0) starts[kind].push({ ms, cpuMs })
      }
    }
    const added = (field: keyof Start): number =>
      median(starts.mounted.map((start) => start[field])) - median(starts.bare.map((start) => start[field]))
    for (const kind of ['bare', 'mounted'] as const) {
      const [ms, cpuMs] = (['ms', 'cpuMs'] as const).map((field) => median(starts[kind].map((start) => start[field])))
      bench.note(`${kind}: ${show(ms!)} ms, ${show(cpuMs!)} ms of CPU`)
    }
    return [
      atMost('start to first answer of an Express application, added by a mounted agent', 60, added('ms'), ' ms'),
      atMost('the same in CPU time', 60, added('cpuMs'), ' ms'),
    ]
  },
}

interface Start {
  readonly ms: number
  readonly cpuMs: number
}
