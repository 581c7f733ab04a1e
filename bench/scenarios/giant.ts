/** One run of 500,000 events among short ones: written, read completely, and recovered. */
import { get } from 'node:http'
import { join } from 'node:path'
import { createClient } from '../../src/client/index.ts'
import type { Scenario } from '../bench.ts'
import { atLeast, atMost, noted, show } from '../figures.ts'
import { type HealthWatch, timeToAnswer, watchHealth } from '../installed.ts'
import { startShortRuns } from '../short-runs.ts'
import { serving } from './backlog.ts'

const EVENTS = 500_000
const STARTERS = 4
const WRITE_MS_MAX = 300_000
const RECOVERY_MS_MAX = 120_000

export const giant: Scenario = {
  name: 'giant',
  about:
    'a run of 500,000 events among short ones: written, read whole, recovered after kill -9; /health is asked meanwhile',
  async run(bench) {
    const events = bench.quick ? EVENTS / 10 : EVENTS
    const path = join(bench.folder(), 'holdfast.db')
    const parameters = serving(bench.built, path)
    const { server } = await timeToAnswer(parameters, '/health')
    bench.keep(server)
    const client = createClient({ url: server.url })
    const { id } = await client.runs.start({ component: 'lab-resume', input: `text ${events}; hang` })
    let isWritten = false
    const writing = took(() => until(WRITE_MS_MAX, async () => (await client.runs.get(id)).events >= events))
    const [written, { started }] = await Promise.all([
      writing.finally(() => (isWritten = true)),
      startShortRuns(server.url, STARTERS, () => isWritten),
    ])
    const idle = bench.keep(
      (await timeToAnswer(serving(bench.built, join(bench.folder(), 'idle.db')), '/health')).server,
    )
    const reading = [server, idle].map(({ url }) => watchHealth(url))
    const read = await took(() => readEvents(`${server.url}/runs/${id}/events`, events))
    const whileRead = await slowest(reading)
    await server.stop()
    const again = await timeToAnswer(parameters, '/health')
    bench.keep(again.server)
    // Started at the same time, so that startup work does not count as recovery.
    const young = bench.keep(
      (await timeToAnswer(serving(bench.built, join(bench.folder(), 'young.db')), '/health')).server,
    )
    const recovering = [again.server, young].map(({ url }) => watchHealth(url))
    const next = createClient({ url: again.server.url })
    const recovered = await took(() => until(RECOVERY_MS_MAX, async () => (await next.runs.get(id)).attempt === 2))
    const whileRecovered = await slowest(recovering)
    const { rssBytes } = again.server.memory()
    await again.server.stop()
    await idle.stop()
    await young.stop()
    bench.note(`written in ${show(written / 1000)} s beside ${show(started)} short runs`)
    return [
      atLeast('giant run: events read per second', 100_000, (events / read) * 1000, '/s'),
      atMost('giant run: slowest /health while it is read, above an idle server', 50, whileRead, ' ms'),
      noted('giant run: start to first answer after kill -9', again.ms, ' ms'),
      atMost('giant run: from there to its next attempt', 30_000, recovered, ' ms'),
      atMost('giant run: slowest /health while it is recovered, above an idle server', 50, whileRecovered, ' ms'),
      noted('giant run: resident memory after recovery', rssBytes / 1e6, ' MB'),
    ]
  },
}

/** Difference of the slowest responses of the first server and of an idle one on the same machine. */
async function slowest(watches: readonly HealthWatch[]): Promise<number> {
  const [busy = 0, idle = 0] = (await Promise.all(watches.map((watch) => watch.end()))).map((times) =>
    Math.max(...times),
  )
  return busy - idle
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

async function until(withinMs: number, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`timed out after ${withinMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Reads a log up to a number of events. */
function readEvents(url: string, events: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { agent: false, headers: { accept: 'application/x-ndjson' } }, (response) => {
      let lines = 0
      response.on('data', (chunk: Buffer) => {
        for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
        if (lines < events) return
        asked.destroy()
        resolve()
      })
      response.on('end', () => reject(new Error(`the log ended after ${lines} events`)))
    })
    asked.on('error', reject)
  })
}
