/** Every store compared with the raw ceiling of its medium, then with one, two and four nodes: the inputs of docs/scale.md. */
import type { Bench, Scenario } from '../bench.ts'
import { atLeast, type Figure, median, noted } from '../figures.ts'
import { describeMachine } from '../machine.ts'
import type { Medium } from '../media/medium.ts'
import { natsMedium, startNatsServers } from '../media/nats.ts'
import { postgresMedium } from '../media/postgres.ts'
import { sqliteMedium } from '../media/sqlite.ts'
import { type Measured, type MeasuredStore, saveMeasured } from '../measurements.ts'
import { storesTable } from '../measured-table.ts'
import { textRecord } from '../open-run.ts'
import { type AppendSample, type CreateSample, measureAppends, measureCreation } from '../stores-alone.ts'
import { measureDelivery, measureLiveRun, measureServed, type ServedSample } from '../stores-served.ts'

const ROUNDS = 3
const RATIO_MIN = 0.5

/** Figures that vary with other load, measured in rounds. */
type Sample = AppendSample & ServedSample
/** CPU and memory averaged over thousands of operations, measured once. */
type Once = CreateSample & { readonly liveRunBytes: number }

interface Media {
  readonly all: readonly Medium[]
  /** NATS without replicas, for comparison. */
  readonly single: Medium
  stop(): Promise<void>
}

export const stores: Scenario = {
  name: 'stores',
  about: 'SQLite, PostgreSQL and NATS beside their raw ceilings, and with 1, 2 and 4 nodes',
  async run(bench) {
    const media = bench.keep(await openMedia(bench))
    try {
      return await measure(bench, media)
    } finally {
      await media.stop()
    }
  },
}

async function openMedia(bench: Bench): Promise<Media> {
  const [postgres, servers] = await Promise.all([postgresMedium(), startNatsServers()])
  const [nats, single] = [await natsMedium(servers, 3), await natsMedium(servers, 1)]
  return {
    all: [sqliteMedium(() => bench.folder()), postgres, nats],
    single,
    async stop() {
      for (const medium of [postgres, nats, single]) await medium.stop()
      for (const server of servers) await server.remove()
    },
  }
}

async function measure(bench: Bench, { all, single }: Media): Promise<readonly Figure[]> {
  const samples = new Map<Medium, Sample[]>(all.map((medium) => [medium, []]))
  const once = new Map<Medium, Once>()
  const singleRatios: number[] = []
  for (let round = 0; round < (bench.quick ? 1 : ROUNDS); round++) {
    for (const medium of all) {
      const alone = await measureAppends(bench, medium)
      samples.get(medium)!.push({ ...alone, ...(await measureServed(bench, medium)) })
    }
    singleRatios.push((await measureAppends(bench, single)).ratio)
  }
  for (const medium of all) {
    const created = await measureCreation(bench, medium)
    once.set(medium, { ...created, liveRunBytes: await measureLiveRun(bench, medium) })
  }
  const entries = all.map((medium) => [medium.name, measuredOf(samples.get(medium)!, once.get(medium)!)] as const)
  const measured: Measured = {
    date: new Date().toISOString().slice(0, 10),
    machine: describeMachine(),
    deliveryMicros: await measureDelivery(bench, all[0]!),
    recordBytes: textRecord('run_00000000000000000000000000', 100).length,
    stores: Object.fromEntries(entries) as Measured['stores'],
  }
  console.log(`\n${storesTable(measured)}\n`)
  if (bench.save) saveMeasured(measured)
  return [
    ...entries.flatMap(([name, store]) => figuresOf(name, store)),
    noted('nats, one replica: of the same commits without Holdfast', median(singleRatios)),
  ]
}

function measuredOf(samples: readonly Sample[], once: Once): MeasuredStore {
  const names = Object.keys(samples[0]!) as (keyof Sample)[]
  const middle = Object.fromEntries(names.map((name) => [name, median(samples.map((each) => each[name]))]))
  const { deliveries1, deliveries2, deliveries4, ...rest } = middle as unknown as Sample
  const deliveriesPerSecond = { 1: deliveries1, ...(deliveries2 > 0 && { 2: deliveries2, 4: deliveries4 }) }
  return { ...rest, ...once, deliveriesPerSecond }
}

function figuresOf(name: string, store: MeasuredStore): Figure[] {
  return [
    ratioFigure(name, store.ratio),
    noted(`${name}: append to frame, p50`, store.p50Ms, ' ms'),
    noted(`${name}: append to frame, p99`, store.p99Ms, ' ms'),
    ...Object.entries(store.deliveriesPerSecond).map(([nodes, rate]) =>
      noted(`${name}: deliveries/s with ${nodes} ${nodes === '1' ? 'node' : 'nodes'}`, rate),
    ),
  ]
}

function ratioFigure(name: string, ratio: number): Figure {
  return atLeast(`${name}: appends/s, of the same commits without Holdfast`, RATIO_MIN, ratio)
}
