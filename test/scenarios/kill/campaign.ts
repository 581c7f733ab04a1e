/** Runs and their clients while their server is killed many times. Everything that clients receive is kept and checked later. */
import { setTimeout as wait } from 'node:timers/promises'
import type { RunShape } from '../../../src/protocols/native/wire/shapes.ts'
import { call, FINISHED, followRun, getRun, postRun, stopRun, untilStatus } from '../../support/http.ts'
import { ServerProcess, startServer } from '../../support/process.ts'
import type { Random } from '../../support/random.ts'
import { until } from '../../support/until.ts'
import { type Script, scripts } from './scripts.ts'

const components = ['lab', 'lab-retry', 'lab-resume'] as const

/** A start that a client has decided on. It is repeated, with the same key, until it is answered. */
interface Start {
  readonly key: string
  readonly component: (typeof components)[number]
  readonly script: Script
}

/** Events of a run's log over one connection. */
export interface Sighting {
  readonly after: number
  readonly bytes: Buffer
}

/** A run that the server has accepted, and what clients received of it. */
export interface AcceptedRun extends Start {
  readonly id: string
  readonly sightings: Sighting[]
  /** Position of the client that follows the run to its end. */
  cursor: number
  followed: boolean
  finished: boolean
  /** Answers that were acknowledged. */
  readonly answers: unknown[]
  /** A stop was acknowledged while the run had not ended. */
  stopped: boolean
}

const RUNS_PER_LIFE_MAX = 6
/** The index of `run.started`. */
const STARTED_INDEX = 1
/** One in this many kills certainly interrupts runs. The others are random. */
const AIMED_EVERY = 4
/** Long enough for a kill between its first and last text, also on a busy machine. */
const LONG_SCRIPT: Script = { input: 'text 40 every 20', texts: 40 }
/** The dead owner was on this machine, so no lease has to expire first. The margin is for a busy machine. */
const ORPHAN_MS = 30_000
/** Time limit for the remaining runs after the last kill. */
const END_MS = 60_000

export class Campaign {
  readonly runs = new Map<string, AcceptedRun>()
  readonly counts = { kills: 0, starts: 0, repeatedStarts: 0, orphans: 0, slowestOrphanMs: 0 }
  readonly #store: string
  readonly #random: Random
  #unanswered: Start[] = []

  constructor(store: string, random: Random) {
    this.#store = store
    this.#random = random
  }

  /** One life of the server, from its start to its death. */
  async live(): Promise<void> {
    const server = new ServerProcess({ store: this.#store, args: ['--log-level', 'warn'] })
    if (this.counts.kills % AIMED_EVERY === 0) {
      await server.listening
      await this.#interrupt(server)
    } else if (this.#random.chance(0.1)) {
      await wait(this.#random.between(50, 700)) // in the middle of its start, or of its recovery
    } else {
      await server.listening
      await this.#visit(server)
    }
    await server.kill()
    this.counts.kills++
  }

  /** Lets every run end on a running server. */
  async conclude(): Promise<ServerProcess> {
    const server = await startServer({ store: this.#store, args: ['--log-level', 'warn'] })
    for (const start of this.#unanswered.splice(0)) await this.#accept(server, start)
    const open = [...this.runs.values()].filter(({ finished }) => !finished)
    await Promise.all(open.map((run) => this.#bringToEnd(server, run)))
    await Promise.all(
      [...this.runs.values()].filter(({ followed }) => !followed).map((run) => this.#follow(server, run)),
    )
    return server
  }

  async #visit(server: ServerProcess): Promise<void> {
    const random = this.#random
    const known = this.runs.size
    const open = [...this.runs.values()].filter(({ finished }) => !finished)
    const visits: Promise<void>[] = open.filter(({ followed }) => !followed).map((run) => this.#follow(server, run))
    if (random.chance(0.5)) await this.#expectOrphansSettled(server, open)
    visits.push(...this.#unanswered.splice(0).map((start) => this.#start(server, start)))
    for (let count = random.between(1, RUNS_PER_LIFE_MAX); count > 0; count--)
      visits.push(this.#start(server, this.#newStart()))
    for (const run of open) if (random.chance(0.4)) visits.push(this.#disturb(server, run))
    // Most kills hit runs that are under way, however long the machine takes to begin them.
    if (random.chance(0.7)) {
      await until('the server has accepted a start', () => this.runs.size > known, { everyMs: 5 })
      await wait(random.between(40, 500))
    } else {
      await wait(random.between(0, 40))
    }
    await Promise.all([server.kill(), ...visits])
  }

  /** Kills the server when one run of each component is in the middle of its text. */
  async #interrupt(server: ServerProcess): Promise<void> {
    const starts = components.map((component) => this.#newStart({ component, script: LONG_SCRIPT }))
    const runs = await Promise.all(starts.map((start) => this.#accept(server, start)))
    const follows = runs.filter((run) => run !== undefined).map((run) => ({ run, stream: followRun(server, run.id) }))
    const followed = Promise.all(follows.map(({ run, stream }) => this.#follow(server, run, stream)))
    const begun = (): boolean => follows.every(({ stream }) => stream.events > STARTED_INDEX + 1)
    await until('one run of each component has emitted text', begun, { everyMs: 5 })
    await Promise.all([server.kill(), followed])
  }

  #newStart(chosen: Partial<Pick<Start, 'component' | 'script'>> = {}): Start {
    const { component = this.#random.pick(components), script = this.#random.pick(scripts) } = chosen
    return { key: `start-${++this.counts.starts}`, component, script }
  }

  async #start(server: ServerProcess, start: Start): Promise<void> {
    const run = await this.#accept(server, start)
    if (run === undefined) return
    await Promise.all([this.#follow(server, run), ...(this.#random.chance(0.3) ? [this.#peek(server, run)] : [])])
  }

  async #accept(server: ServerProcess, start: Start): Promise<AcceptedRun | undefined> {
    const answer = await unlessGone(postRun(server, start.script.input, { component: start.component, key: start.key }))
    if (answer === undefined) {
      this.counts.repeatedStarts++
      this.#unanswered.push(start)
      return undefined
    }
    if (answer.status !== 202)
      throw new Error(`start ${start.key} was answered with ${answer.status}: ${JSON.stringify(answer.body)}`)
    const { id } = answer.body
    const run: AcceptedRun = {
      ...start,
      id,
      sightings: [],
      cursor: -1,
      followed: false,
      finished: false,
      answers: [],
      stopped: false,
    }
    this.runs.set(id, run)
    return run
  }

  /** The client that reads everything: resumes with its cursor after every kill. */
  async #follow(
    server: ServerProcess,
    run: AcceptedRun,
    stream = followRun(server, run.id, run.cursor < 0 ? {} : { after: run.cursor }),
  ): Promise<void> {
    const end = await stream.ended
    const status = await stream.status()
    if (status !== undefined && status !== 200 && status !== 204)
      throw new Error(`run ${run.id} cannot be followed from ${run.cursor}: ${status}`)
    run.sightings.push({ after: run.cursor, bytes: stream.log })
    run.cursor += stream.events
    if (end === 'closed') run.followed = true
  }

  /** Another subscriber with its own cursor. */
  async #peek(server: ServerProcess, run: AcceptedRun): Promise<void> {
    const stream = followRun(server, run.id, { after: 0, by: 'query' })
    await stream.ended
    run.sightings.push({ after: 0, bytes: stream.log })
  }

  /** Stops or answers a run, and records what was acknowledged. */
  async #disturb(server: ServerProcess, run: AcceptedRun): Promise<void> {
    if (run.script.hangs && this.#random.chance(0.5)) {
      const stopped = await unlessGone(stopRun(server, run.id))
      if (stopped !== undefined && !FINISHED.includes(stopped.status)) run.stopped = true
      return
    }
    const { status, waiting } = (await unlessGone(getRun(server, run.id))) ?? {}
    if (status === 'paused') await this.#answer(server, run, waiting)
  }

  async #answer(server: ServerProcess, run: AcceptedRun, waiting: RunShape['waiting']): Promise<void> {
    const answer =
      waiting?.[0]?.kind === 'uncertain' ? { action: 'retry' } : `yes, ${this.#random.between(0, 1_000_000)}`
    const answered = await unlessGone(call(server, 'POST', `/runs/${run.id}/answers`, { body: { answer } }))
    if (answered === undefined) return
    if (answered.status === 202) run.answers.push(answer)
    else if (answered.status !== 409) throw new Error(`run ${run.id}: an answer was refused with ${answered.status}`)
  }

  /**
   * A run that must not execute again fails, or still waits for its answer. Only runs that were seen to start count: one that was
   * still queued when the server died starts now, and may be a script that hangs.
   */
  async #expectOrphansSettled(server: ServerProcess, open: readonly AcceptedRun[]): Promise<void> {
    const since = Date.now()
    const orphans = open.filter(({ component, cursor }) => component === 'lab' && cursor >= STARTED_INDEX)
    await Promise.all(
      orphans.map(async (run) => {
        const { status } = await untilStatus(server, run.id, [...FINISHED, 'paused'], ORPHAN_MS)
        if (FINISHED.includes(status)) run.finished = true
      }),
    )
    this.counts.orphans += orphans.length
    if (orphans.length > 0) this.counts.slowestOrphanMs = Math.max(this.counts.slowestOrphanMs, Date.now() - since)
  }

  async #bringToEnd(server: ServerProcess, run: AcceptedRun): Promise<void> {
    for (let turn = 0; turn < 10; turn++) {
      if (run.script.hangs) await stopRun(server, run.id)
      const { status, waiting } = await untilStatus(server, run.id, [...FINISHED, 'paused'], END_MS)
      run.finished = FINISHED.includes(status)
      if (run.finished) return
      await this.#answer(server, run, waiting)
    }
    throw new Error(`run ${run.id} asks and asks`)
  }
}

/** Undefined if the server died before it responded. Other errors are thrown. */
async function unlessGone<Result>(request: Promise<Result>): Promise<Result | undefined> {
  try {
    return await request
  } catch (cause) {
    if (cause instanceof TypeError && /fetch failed|terminated/.test(cause.message)) return undefined
    throw cause
  }
}
