/** Measures resumes near the end of a very long run, and their effect on other runs. */
import { join } from 'node:path'
import type { Bench } from './bench.ts'
import { atMost, type Figure, median, show } from './figures.ts'
import type { FinishedRuns } from './finished-runs.ts'
import { LOAD_MS_MAX, rest } from './measure.ts'
import type { FollowProtocol, Load, Resume } from './messages.ts'
import { ServerProcess } from './processes.ts'

const RESUMING = ['agentos', 'responses', 'a2a'] as const
const EVENTS = 100_000
const MORE_EVENTS = 1_000_000
/** Events that a subscriber has missed. */
const MISSED = 50
const TOGETHER = 100
const LATER = 200
const WARM_UP_EVENTS = 5000
const WARM_UPS = 20

/** A run in a database, with its number of events. */
interface LongRun {
  readonly id: string
  readonly events: number
}

interface ResumeCosts {
  /** CPU-seconds of the first resume near the end. */
  readonly cold: number
  readonly later: number
  /** CPU-seconds of many concurrent resumes on a server that has not seen the run. */
  readonly together: number
}

interface Filled {
  readonly path: string
  readonly long: LongRun
  readonly longer: LongRun
  readonly short: LongRun
}

export async function resumes(bench: Bench): Promise<Figure[]> {
  const filled = await fillAll(bench)
  const { path, long, longer } = filled
  const client = await bench.client()
  const server = await warmServer(bench, filled)
  const whole = await repeated(bench.rounds, server, () =>
    client.resume(server.port, { ...asked(long, 'native', 1), from: 0 }),
  )
  const native = await later(bench, server, long, 'native')
  await server.stop()
  bench.note(`native: whole ${ms(whole)}, near the end ${ms(native)}`)
  const figures: Figure[] = []
  for (const protocol of RESUMING) {
    const { cold, later: again, together } = await measureResumes(bench, filled, protocol)
    bench.note(`${protocol}: first ${ms(cold)}, later ${ms(again)}, ${TOGETHER} at once ${ms(together)}`)
    const ofMore = await laterOfMore(bench, filled, protocol)
    bench.note(`${protocol}: later ${ms(ofMore)} near the end of ${longer.events} events`)
    figures.push(
      atMost(`${protocol}, first resume near the end of ${EVENTS} events: CPU, of native catch-up`, 3, cold / whole),
      atMost(`${protocol}, ${TOGETHER} first resumes at once: CPU, of one`, 1.5, together / cold),
      atMost(`${protocol}, later resumes near the end: CPU, of native`, 3, again / native),
      atMost(`${protocol}, later resumes of ${MORE_EVENTS} events: CPU, of ${EVENTS}`, 1.5, ofMore / again),
    )
  }
  return [...figures, ...(await meanwhile(bench, path))]
}

async function fillAll(bench: Bench): Promise<Filled> {
  const path = join(bench.folder(), 'holdfast.db')
  const filled = async (events: number): Promise<LongRun> => {
    const [id] = await fill(bench, { path, runs: 1, eventsPerRun: events, open: true })
    return { id: id!, events }
  }
  return {
    path,
    long: await filled(EVENTS),
    longer: await filled(MORE_EVENTS),
    short: await filled(WARM_UP_EVENTS),
  }
}

async function measureResumes(bench: Bench, filled: Filled, protocol: FollowProtocol): Promise<ResumeCosts> {
  const client = await bench.client()
  const { long } = filled
  const found = { cold: [] as number[], later: [] as number[], together: [] as number[] }
  for (let round = 0; round < bench.rounds; round++) {
    for (const subscribers of [1, TOGETHER]) {
      const server = await warmServer(bench, filled)
      const cost = await cpuSeconds(server, () => client.resume(server.port, asked(long, protocol, subscribers)))
      found[subscribers === 1 ? 'cold' : 'together'].push(cost)
      if (subscribers === 1) found.later.push(await later(bench, server, long, protocol))
      await server.stop()
    }
  }
  return { cold: median(found.cold), later: median(found.later), together: median(found.together) }
}

async function laterOfMore(bench: Bench, filled: Filled, protocol: FollowProtocol): Promise<number> {
  const client = await bench.client()
  const server = await warmServer(bench, filled)
  await client.resume(server.port, asked(filled.longer, protocol, 1))
  const cost = await later(bench, server, filled.longer, protocol)
  await server.stop()
  return cost
}

const OTHERS = 50
const OTHERS_SECONDS = 3
const OTHERS_INTERVAL_MS = 20

/** Live deltas of other runs while views of long runs are built. */
async function meanwhile(bench: Bench, path: string): Promise<Figure[]> {
  const ids = await fill(bench, { path, runs: bench.rounds, eventsPerRun: EVENTS })
  const [client, server] = [await bench.client(), await bench.node(`sqlite:${path}`)]
  const work = {
    events: (OTHERS_SECONDS * 1000) / OTHERS_INTERVAL_MS,
    perTurn: 1,
    intervalMs: OTHERS_INTERVAL_MS,
    phaseMs: 0,
    stampEvery: 1,
  }
  const others: Load = { runs: OTHERS, subscribersPerRun: 1, work }
  const p99 = async (building: () => Promise<void>): Promise<number> => {
    await client.open(server.port, others)
    await server.go(OTHERS)
    const [{ p99Ms }] = await Promise.all([client.finish(LOAD_MS_MAX), building()])
    return p99Ms
  }
  await p99(() => Promise.resolve()) // compiles
  const grown: number[] = []
  for (const id of ids) {
    const alone = await p99(() => Promise.resolve())
    const beside = await p99(() => buildViews(server.port, id))
    bench.note(`p99 of ${OTHERS} other runs: ${show(alone)} ms alone, ${show(beside)} ms while views are built`)
    grown.push(beside - alone)
  }
  await server.stop()
  return [atMost(`while views are built: p99 of live deltas of ${OTHERS} other runs, more`, 10, median(grown), ' ms')]
}

/** A position beyond the end of a finished run is answered with its view, and without its text. */
async function buildViews(port: number, id: string): Promise<void> {
  for (const [path, status] of [
    [`/agents/bench/runs/${id}/resume?last_event_index=999999999`, 204],
    [`/v1/responses/${id.replace('run_', 'resp_')}?stream=true&starting_after=999999999`, 400],
  ] as const) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    await response.text()
    if (response.status !== status) throw new Error(`${path}: status ${response.status}`)
  }
}

/** All but `run.created` and the end are texts. */
function asked({ id: run, events }: LongRun, protocol: FollowProtocol, subscribers: number): Resume {
  return { run, protocol, from: events - 2 - MISSED, to: events - 2, subscribers }
}

/** Mean of many sequential resumes. */
async function later(bench: Bench, server: ServerProcess, run: LongRun, protocol: FollowProtocol): Promise<number> {
  const client = await bench.client()
  const all = await cpuSeconds(server, async () => {
    for (let count = 0; count < LATER; count++) await client.resume(server.port, asked(run, protocol, 1))
  })
  return all / LATER
}

async function repeated(rounds: number, server: ServerProcess, work: () => Promise<void>): Promise<number> {
  const found: number[] = []
  for (let round = 0; round < rounds; round++) found.push(await cpuSeconds(server, work))
  return median(found)
}

async function cpuSeconds(server: ServerProcess, work: () => Promise<void>): Promise<number> {
  await rest(server)
  const before = await server.usage()
  await work()
  await rest(server)
  return ((await server.usage()).cpuMicros - before.cpuMicros) / 1e6
}

/** A server that executes nothing, so that runs stay open, and has loaded and compiled the code of all protocols. */
async function warmServer(bench: Bench, { path, short }: Filled): Promise<ServerProcess> {
  const [channel, port] = await bench.processes.start<number>(
    'servers/holdfast.js',
    [`sqlite:${path}`, 'reads'],
    bench.profiling,
  )
  const client = await bench.client()
  for (const protocol of ['native', ...RESUMING] as const) {
    const resume = asked(short, protocol, WARM_UPS)
    await client.resume(port, { ...resume, from: 0, subscribers: WARM_UPS / 2 })
    await client.resume(port, resume)
  }
  return new ServerProcess(channel, port)
}

/** Returns the ids of the runs. */
async function fill(bench: Bench, request: FinishedRuns): Promise<readonly string[]> {
  const [channel] = await bench.processes.start('finished-runs.js', [])
  const runs = await channel.ask<readonly string[]>(request)
  channel.end()
  await channel.exited()
  return runs
}

function ms(seconds: number): string {
  return `${show(seconds * 1000)} ms`
}
