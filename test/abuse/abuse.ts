/**
 * Honest runs on a quiet server, and the same beside hostile connections: what that costs them, and what it costs the server. A second
 * server, which nobody attacks, serves as many runs at the same time: it shows what the machine costs them at that moment, since the
 * hostile processes and whatever else runs share its processors.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { untilStatus } from '../support/http.ts'
import { Child } from './child.ts'
import { type HonestOptions, type HonestReport, honestRuns } from './honest.ts'
import type { AbusedServer, HostileJob, HostileReport, MemorySample } from './messages.ts'

export interface AbuseOptions extends HonestOptions {
  readonly connections: number
  readonly floodPerSecond: number
}

export interface AbuseReport {
  readonly quiet: HonestReport
  readonly abused: HonestReport
  /** Of the other server, at the same time. */
  readonly control: HonestReport
  readonly hostile: HostileReport
  /** Resident memory of the server, in MB: before the hostile connections, and the most beside them. */
  readonly quietMegabytes: number
  readonly abusedMegabytes: number
}

const SAMPLE_MS = 250
const LARGE_MEGABYTES = 32
/** Until all hostile connections are there. */
const SETTLE_MS = 2000

export async function abuse({ connections, floodPerSecond, ...honest }: AbuseOptions): Promise<AbuseReport> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-abuse-'))
  const server = new Child('server-program.ts', [mkdtempSync(join(folder, 'abused-'))])
  const other = new Child('server-program.ts', [mkdtempSync(join(folder, 'control-'))])
  const hostile = new Child('hostile-program.ts')
  try {
    const [ready, unharmed] = await Promise.all([server.next<AbusedServer>(), other.next<AbusedServer>()])
    const largeRun = await makeLargeRun(ready)
    // What is slow the first time is no measure.
    for (const each of [ready, unharmed]) await honestRuns(each, { runs: honest.runs, seconds: 2 })
    const quiet = await honestRuns(ready, honest)
    const quietMegabytes = await megabytes(server)
    const job: HostileJob = { server: ready, largeRun, connections, floodPerSecond }
    hostile.tell(job)
    const memory = new MemoryWatch(server)
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    const [abused, control] = await Promise.all([honestRuns(ready, honest), honestRuns(unharmed, honest)])
    const abusedMegabytes = await memory.stop()
    const report = await hostile.next<HostileReport>('stop')
    return { quiet, abused, control, hostile: report, quietMegabytes, abusedMegabytes }
  } finally {
    await Promise.all([hostile.kill(), server.kill(), other.kill()])
    rmSync(folder, { recursive: true, force: true })
  }
}

async function makeLargeRun({ url, hostileKey }: AbusedServer): Promise<string> {
  const target = { url, token: hostileKey }
  const response = await fetch(`${url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${hostileKey}` },
    body: JSON.stringify({ component: 'large', input: LARGE_MEGABYTES }),
  })
  const { id } = (await response.json()) as { readonly id: string }
  await untilStatus(target, id, ['completed'], 60_000)
  return id
}

async function megabytes(server: Child): Promise<number> {
  const { rssBytes } = await server.next<MemorySample>('sample')
  return rssBytes / (1024 * 1024)
}

/** The most memory that the server was seen to have. */
class MemoryWatch {
  #highest = 0
  #stopped = false
  readonly #watching: Promise<void>

  constructor(server: Child) {
    this.#watching = this.#watch(server)
  }

  async stop(): Promise<number> {
    this.#stopped = true
    await this.#watching
    return this.#highest
  }

  async #watch(server: Child): Promise<void> {
    while (!this.#stopped) {
      this.#highest = Math.max(this.#highest, await megabytes(server))
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS))
    }
  }
}
