/** Runs all cases of a kind on one server, kills it when each of them has reached its phase, and restarts it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { call, FINISHED, followRun, getRun, startRun } from '../../support/http.ts'
import type { EventStream } from '../../support/event-stream.ts'
import { type ServerProcess, startServer } from '../../support/process.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { type Case, questionsOf } from './cases.ts'
import { kinds, seenBefore } from './kinds.ts'
import { JOURNAL, LIFE, type Note } from './scene.ts'

/** A run of the matrix, and all that its watcher was sent. */
export interface Watched extends Case {
  readonly run: string
  readonly sightings: { readonly after: number; readonly bytes: Buffer }[]
  /** Everything seen, in all lives. */
  seen: string
  cursor: number
  /** Frames of this life that were processed. */
  looked: number
  waiting: Question | undefined
  finished: boolean
}

interface Question {
  readonly id: string
  readonly kind: string
  readonly prompt: string
}

/** Two kills, and the life after them. */
export const LIVES = 3
const LIFE_MS = 120_000

export class Campaign {
  readonly runs: Watched[] = []
  readonly #cases: readonly Case[]
  readonly #folder = temporaryFolder()
  readonly #journal = join(this.#folder, 'journal')

  constructor(cases: readonly Case[]) {
    this.#cases = cases
    writeFileSync(this.#journal, '')
  }

  get journal(): Note[] {
    const lines = readFileSync(this.#journal, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as Note)
  }

  /** One life of the server; it is killed at the end of each but the last. */
  async live(life: number): Promise<ServerProcess> {
    const server = await startServer({
      store: join(this.#folder, 'runs.db'),
      command: ['serve', join(import.meta.dirname, 'components.ts')],
      args: ['--log-level', 'fatal'],
      env: { [JOURNAL]: this.#journal, [LIFE]: String(life) },
    })
    if (life === 1) for (const started of this.#cases) this.runs.push(await begin(server, started))
    const open = this.runs.filter(({ finished }) => !finished)
    const streams = new Map(open.map((run) => [run, followRun(server, run.run, cursorOf(run))]))
    await until(`all runs are where life ${life} leaves them`, () => this.#allSettled(server, streams, life), {
      withinMs: LIFE_MS,
      everyMs: 50,
    })
    if (life < LIVES) await server.kill()
    for (const [run, stream] of streams) await keep(run, stream)
    return server
  }

  async #allSettled(server: ServerProcess, streams: ReadonlyMap<Watched, EventStream>, life: number): Promise<boolean> {
    const held = new Set(
      this.journal.flatMap((note) => ('holdsIn' in note && note.life === life ? note.component : [])),
    )
    const settled: boolean[] = []
    for (const [run, stream] of streams) {
      look(run, stream)
      if (run.kills >= life ? await this.#stands(server, run, held) : run.finished) settled.push(true)
      else if (run.waiting !== undefined) await answer(server, run, run.waiting)
    }
    return settled.length === streams.size
  }

  /** Whether a run is in the phase in which it will be killed. */
  async #stands(server: ServerProcess, run: Watched, held: ReadonlySet<string>): Promise<boolean> {
    const question = questionsOf[run.phase!]
    if (question !== undefined)
      return question.test(run.waiting?.prompt ?? '') && (await getRun(server, run.run)).status === 'paused'
    const { settled } = kinds[run.kind]!
    return (
      held.has(run.id) && [...(seenBefore[run.phase!] ?? []), settled ?? ''].every((text) => run.seen.includes(text))
    )
  }
}

async function begin(server: ServerProcess, started: Case): Promise<Watched> {
  const { id: run } = await startRun(server, 'go', { component: started.id })
  return { ...started, run, sightings: [], seen: '', cursor: -1, looked: 0, waiting: undefined, finished: false }
}

function cursorOf({ cursor }: Watched): { readonly after?: number } {
  return cursor < 0 ? {} : { after: cursor }
}

/** Processes frames since the last call. */
function look(run: Watched, { frames }: EventStream): void {
  for (; run.looked < frames.length; run.looked++) {
    const frame = frames[run.looked]!.toString()
    run.seen += frame
    const [, type] = /^event: (\S+)$/m.exec(frame) ?? []
    if (type === 'run.paused') [run.waiting] = questionsIn(frame)
    if (type === 'run.resumed') run.waiting = undefined
    if (FINISHED.includes(type?.replace('run.', '') ?? '')) run.finished = true
  }
}

function questionsIn(frame: string): Question[] {
  const envelope = /^data: (.*)$/m.exec(frame)![1]!
  return (JSON.parse(envelope) as { data: { questions: Question[] } }).data.questions
}

async function answer(server: ServerProcess, run: Watched, { id, kind }: Question): Promise<void> {
  const given = { uncertain: decisionOf(run), approval: true }[kind] ?? 'yes'
  const { status } = await call(server, 'POST', `/runs/${run.run}/answers`, { body: { answers: { [id]: given } } })
  if (status !== 202 && status !== 409) throw new Error(`${run.id}: an answer was refused with ${status}`)
  if (status === 202) run.waiting = undefined
}

function decisionOf({ decision }: Case): object {
  return decision === 'result' ? { action: decision, value: 'pay done' } : { action: decision }
}

/** The server has died, or the run has ended. */
async function keep(run: Watched, stream: EventStream): Promise<void> {
  await stream.ended
  look(run, stream)
  run.sightings.push({ after: run.cursor, bytes: stream.log })
  run.cursor += stream.events
  run.looked = 0
}
