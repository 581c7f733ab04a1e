/** Views: subscribers of other protocols beside native ones. */
import { join } from 'node:path'
import type { Bench, Scenario } from '../bench.ts'
import { atLeast, atMost, type Figure, median, show } from '../figures.ts'
import type { FinishedRuns } from '../finished-runs.ts'
import { measure, rest } from '../measure.ts'
import type { FollowProtocol, Load, Resume } from '../messages.ts'
import { ServerProcess } from '../processes.ts'

const PROTOCOLS = ['agentos', 'responses', 'a2a'] as const
/** An A2A subscription begins with the whole task, so its cost is that of the text so far. */
const RESUMING = ['agentos', 'responses'] as const
const EVENTS = 100_000
/** Events that a subscriber has missed. */
const MISSED = 50
const TOGETHER = 100
const LATER = 200
const WARM_UP_EVENTS = 5000
const WARM_UPS = 20

export const views: Scenario = {
  name: 'views',
  about:
    'AgentOS, Responses and A2A beside native: one run × 1,000 subscribers, and resumes of a run of 100,000 events',
  async run(bench) {
    return [...(await fanOut(bench)), ...(await resumes(bench))]
  },
}

async function fanOut(bench: Bench): Promise<Figure[]> {
  const client = await bench.client()
  const server = await bench.server('holdfast')
  const rates: Record<FollowProtocol, number[]> = { native: [], agentos: [], responses: [], a2a: [] }
  for (const protocol of ['native', ...PROTOCOLS] as const) await measure(server, client, load(protocol, 50))
  for (let round = 0; round < bench.rounds; round++) {
    for (const protocol of ['native', ...PROTOCOLS] as const) {
      const fanned = load(protocol, bench.quick ? 75 : 150)
      const measured = await measure(server, client, fanned)
      // The text that some protocols repeat in their last frame does not count.
      rates[protocol].push((fanned.work.events * fanned.subscribersPerRun) / measured.cpuSeconds)
      bench.note(`${protocol.padEnd(9)} ${show(rates[protocol].at(-1)!)} deliveries per CPU-second`)
    }
  }
  await server.stop()
  return PROTOCOLS.map((protocol) => {
    const ratio = median(rates[protocol].map((rate, round) => rate / rates.native[round]!))
    return atLeast(`1,000 ${protocol} subscribers, paced: deliveries per CPU-second, of native`, 0.8, ratio)
  })
}

function load(protocol: FollowProtocol, events: number): Load {
  const work = { events, perTurn: 8, intervalMs: 20, phaseMs: 0, stampEvery: 0 }
  return { runs: 1, subscribersPerRun: 1000, protocol, retold: true, work }
}

interface ResumeCosts {
  /** CPU-seconds of the first resume near the end. */
  readonly cold: number
  readonly later: number
  /** Of many at once on a server that has not seen the run. */
  readonly together: number
}

async function resumes(bench: Bench): Promise<Figure[]> {
  const path = join(bench.folder(), 'holdfast.db')
  const [long] = await fill(bench, { path, runs: 1, eventsPerRun: EVENTS, open: true })
  const [short] = await fill(bench, { path, runs: 1, eventsPerRun: WARM_UP_EVENTS, open: true })
  const runs = { long: long!, short: short! }
  const client = await bench.client()
  const server = await warmServer(bench, path, runs.short)
  const whole = await repeated(bench.rounds, server, () => client.resume(server.port, asked(runs.long, 'native', 1, 0)))
  const native = await later(bench, server, runs.long, 'native')
  await server.stop()
  bench.note(`native: whole ${ms(whole)}, near the end ${ms(native)}`)
  const figures: Figure[] = []
  for (const protocol of RESUMING) {
    const { cold, later: again, together } = await measureResumes(bench, path, runs, protocol)
    bench.note(`${protocol}: first ${ms(cold)}, later ${ms(again)}, ${TOGETHER} at once ${ms(together)}`)
    figures.push(
      atMost(`${protocol}, first resume near the end of ${EVENTS} events: CPU, of native catch-up`, 3, cold / whole),
      atMost(`${protocol}, ${TOGETHER} first resumes at once: CPU, of one`, 1.5, together / cold),
      atMost(`${protocol}, later resumes near the end: CPU, of native`, 3, again / native),
    )
  }
  return figures
}

async function measureResumes(
  bench: Bench,
  path: string,
  { long, short }: { readonly long: string; readonly short: string },
  protocol: FollowProtocol,
): Promise<ResumeCosts> {
  const client = await bench.client()
  const found = { cold: [] as number[], later: [] as number[], together: [] as number[] }
  for (let round = 0; round < bench.rounds; round++) {
    for (const subscribers of [1, TOGETHER]) {
      const server = await warmServer(bench, path, short)
      const cost = await cpuSeconds(server, () => client.resume(server.port, asked(long, protocol, subscribers)))
      found[subscribers === 1 ? 'cold' : 'together'].push(cost)
      if (subscribers === 1) found.later.push(await later(bench, server, long, protocol))
      await server.stop()
    }
  }
  return { cold: median(found.cold), later: median(found.later), together: median(found.together) }
}

function asked(run: string, protocol: FollowProtocol, subscribers: number, from = TEXTS - MISSED): Resume {
  return { run, protocol, from, to: TEXTS, subscribers }
}

/** All but `run.created` and the end, which open runs do not have. */
const TEXTS = EVENTS - 2

/** Mean of many, one after the other. */
async function later(bench: Bench, server: ServerProcess, run: string, protocol: FollowProtocol): Promise<number> {
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
async function warmServer(bench: Bench, path: string, short: string): Promise<ServerProcess> {
  const [channel, port] = await bench.processes.start<number>(
    'servers/holdfast.js',
    [`sqlite:${path}`, 'reads'],
    bench.profiling,
  )
  const client = await bench.client()
  for (const protocol of ['native', ...RESUMING] as const) {
    const resume = { run: short, protocol, from: 0, to: WARM_UP_EVENTS - 2 }
    await client.resume(port, { ...resume, subscribers: WARM_UPS / 2 })
    await client.resume(port, { ...resume, from: resume.to - MISSED, subscribers: WARM_UPS })
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
