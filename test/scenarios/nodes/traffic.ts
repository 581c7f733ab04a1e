/** Clients that start runs on any node of the cluster and follow them to their end on any node. */
import { setTimeout as wait } from 'node:timers/promises'
import { type Client, type LoggedEvent, type RunHandle } from '../../../src/client/index.ts'
import type { Random } from '../../support/random.ts'

export const components = ['lab', 'lab-retry', 'lab-resume', 'lab-queue'] as const

export interface Script {
  readonly input: string
  /** Number of numbered texts after the whole script, without retracted ones. */
  readonly texts: number
  readonly asks?: true
  /** Never ends by itself: its client stops it. */
  readonly hangs?: true
}

const scripts: readonly Script[] = [
  { input: 'text 60 every 30', texts: 60 },
  { input: 'text 30 every 100', texts: 30 },
  { input: 'text 500', texts: 500 },
  { input: 'text 10 every 20; step one 50; text 10 every 20; step two 100; text 10', texts: 30 },
  { input: 'tool search idempotent 100; text 20 every 10; tool search idempotent 200; text 20', texts: 40 },
  { input: 'text 5; ask Go on?; text 20 every 20', texts: 25, asks: true },
  { input: 'big 64; text 20 every 50; big 200; text 5', texts: 25 },
  { input: 'text 20 every 20; hang', texts: 20, hangs: true },
]

/** Runs of the queue share few sessions, so that they wait for each other on whichever node. */
const SESSIONS = 20

export interface Followed {
  readonly id: string
  readonly component: (typeof components)[number]
  readonly script: Script
  readonly session: string | undefined
  /** Events that the client received over all its connections. */
  readonly seen: readonly LoggedEvent[]
}

/** An unfinished run and its progress. */
export interface Following<End = Followed> {
  readonly ended: Promise<End>
  readonly state: FollowingState
}

export interface FollowingState {
  readonly number: number
  /** What its client is doing now. */
  does: string
  id?: string
  events: number
  last?: string
  isOver: boolean
}

export function follow(client: Client, random: Random, number: number): Following {
  const state: FollowingState = { number, does: 'starts', events: 0, isOver: false }
  const ended = followOne(client, random, number, state).finally(() => (state.isOver = true))
  ended.catch(() => {}) // looked at by who waits for it
  return { ended, state }
}

export async function followOne(
  client: Client,
  random: Random,
  number: number,
  state?: FollowingState,
): Promise<Followed> {
  const component = random.pick(components)
  const script = random.pick(scripts)
  const session = component === 'lab-queue' ? `queue-${random.between(1, SESSIONS)}` : undefined
  const request = { component, input: script.input, ...(session !== undefined && { session }) }
  const run = await client.runs.start(request, { idempotencyKey: `start-${number}` })
  if (state !== undefined) Object.assign(state, { id: run.id, does: `follows ${component} "${script.input}"` })
  const seen: LoggedEvent[] = []
  const commands: Promise<void>[] = []
  for await (const event of run.events()) {
    seen.push(event)
    if (state !== undefined) Object.assign(state, { events: seen.length, last: `${event.index} ${event.type}` })
    if (event.type === 'run.paused') commands.push(answer(run))
    // By another handle than the one that follows, and so by a connection of its own.
    if (script.hangs && event.type === 'text.delta' && event.data.text.startsWith('[19] ')) commands.push(stop(run))
  }
  if (state !== undefined) state.does = `waits for ${commands.length} answers or stops that it sent`
  await Promise.all(commands)
  return { id: run.id, component, script, session, seen }
}

const TRIES_MAX = 200

/** A node may die with the response; the client then looks up whether the answer was accepted, and repeats it if not. */
async function answer(run: RunHandle): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if ((await run.get()).status !== 'paused') return
    const taken = await run.answer({ answer: 'yes' }).then(
      () => true,
      () => false,
    )
    if (taken) return
    await wait(200)
  }
  throw new Error(`run ${run.id} takes no answer`)
}

async function stop(run: RunHandle): Promise<void> {
  await run.stop({ reason: 'seen enough' })
}
