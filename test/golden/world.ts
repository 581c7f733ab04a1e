/** A server on a recorded log: the test is the worker that appends it, and every protocol started its own run of it. */
import { onTestFinished } from 'vitest'
import type { Event } from '../../src/core/model/event.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createServer, type Server } from '../../src/server/create-server.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { RunWriter } from '../../src/testing/fixtures.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { goldenComponents } from './components.ts'
import type { GoldenLog } from './log-file.ts'

/** Ids and times are fixed, so that the streams are. */
const START = Date.parse('2026-01-01T00:00:00.000Z')
const EVENT_MS = 137
const LEASE_MS = 1e12

export class GoldenWorld {
  readonly log: GoldenLog
  readonly #path = temporaryDatabase()
  #now = START
  #nextRun = ''
  #server: Server | undefined
  #store: Store | undefined

  constructor(log: GoldenLog) {
    this.log = log
    onTestFinished(() => this.#server?.close())
  }

  get url(): string {
    return this.#server!.url
  }

  get store(): Store {
    return this.#store!
  }

  /** Starts a server on the world's database, which executes no runs. Stops the one before. */
  async serve(): Promise<void> {
    await this.#server?.close()
    const clock = { now: () => this.#now, elapsed: () => this.#now - START }
    this.#store = await openSqliteStore({ path: this.#path, clock })
    this.#server = await createServer({
      components: goldenComponents(),
      store: this.#store,
      clock,
      ids: { run: () => this.#nextRun, session: () => `ses_${this.#nextRun}`, unique: () => 'unique' },
      // Replays send the same message again.
      a2a: { deduplicateMessages: 'always', agents: { parrot: { answersDirectly: true } } },
      limits: { maxConcurrentRuns: 0, drainTimeoutMs: 0 },
    })
  }

  /** The run that one protocol starts. Each starts an hour after the one before. */
  async start(run: string, request: () => Promise<Response>): Promise<Response> {
    this.#now += 3_600_000
    this.#nextRun = run
    const response = await request()
    if (response.status !== 200) throw new Error(`${run}: ${response.status} ${await response.text()}`)
    return response
  }

  /** A worker that appends the log to a run, one event at a time. */
  async worker(run: string): Promise<GoldenWorker> {
    const claimed = await this.store.claim(run, 'golden', LEASE_MS)
    if (claimed === undefined) throw new Error(`run ${run} cannot be claimed`)
    const began = Date.parse(claimed.run.createdAt)
    let at = began
    const writer = new RunWriter(this.store, { now: () => (at += EVENT_MS) }, claimed, [])
    const events = JSON.parse(
      JSON.stringify(this.log.events).replaceAll(`run_${this.log.name}`, run),
    ) as readonly Event[]
    return {
      append: async (index) => {
        writer.append(events[index]!)
        await writer.flush()
      },
    }
  }
}

export interface GoldenWorker {
  append(index: number): Promise<void>
}
