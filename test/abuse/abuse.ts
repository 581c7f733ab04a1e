/**
 * Measures honest runs three times: on a quiet server, while another server is attacked, and while their own server is attacked. The
 * second one shows what the hostile processes cost by taking processor time of the machine.
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
  /** While the other server was attacked. */
  readonly elsewhere: HonestReport
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
  const other = new Child('server-program.ts', [mkdtempSync(join(folder, 'other-'))])
  const attack = async <Result>(
    target: AbusedServer,
    during: () => Promise<Result>,
  ): Promise<[Result, HostileReport]> => {
    const hostile = new Child('hostile-program.ts')
    try {
      const job: HostileJob = { server: target, largeRun: await makeLargeRun(target), connections, floodPerSecond }
      hostile.tell(job)
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
      const result = await during()
      return [result, await hostile.next<HostileReport>('stop')]
    } finally {
      await hostile.kill()
    }
  }
  try {
    const [ready, decoy] = await Promise.all([server.next<AbusedServer>(), other.next<AbusedServer>()])
    // What is slow the first time is no measure.
    await honestRuns(ready, { runs: honest.runs, seconds: 2 })
    const quiet = await honestRuns(ready, honest)
    const [elsewhere] = await attack(decoy, () => honestRuns(ready, honest))
    const quietMegabytes = await megabytes(server)
    const memory = new MemoryWatch(server)
    const [abused, report] = await attack(ready, () => honestRuns(ready, honest))
    const abusedMegabytes = await memory.stop()
    return { quiet, elsewhere, abused, hostile: report, quietMegabytes, abusedMegabytes }
  } finally {
    await Promise.all([server.kill(), other.kill()])
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

/** Peak memory of the server. */
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
