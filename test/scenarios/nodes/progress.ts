/** Progress of a storm: printed while it lasts, in full if it takes too long. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Client } from '../../../src/client/index.ts'
import type { Following } from './traffic.ts'

/** Less than the test's timeout, so that the error can list what is missing. */
const END_MS = 420_000
/** Runs that are printed in full. */
const TOLD_MAX = 20

/** Resolves when all runs have ended. The timeout error lists the state of each unfinished run. */
export async function allEnded<Followed>(
  client: Client,
  following: readonly Following<Followed>[],
): Promise<Followed[]> {
  const enough = new AbortController()
  const late = wait(END_MS, 'late' as const, { signal: enough.signal })
  const ended = Promise.all(following.map(({ ended: end }) => end))
  try {
    const first = await Promise.race([ended, late])
    if (first !== 'late') return first
    throw new Error(`within ${END_MS} ms not every run ended:\n${await describe(client, following)}`)
  } finally {
    enough.abort()
    late.catch(() => {})
  }
}

async function describe(client: Client, following: readonly Following<unknown>[]): Promise<string> {
  const open = following.filter(({ state }) => !state.isOver)
  const lines = open.slice(0, TOLD_MAX).map(async ({ state: { number, id, events, last, does } }) => {
    const now = id === undefined ? 'not started' : JSON.stringify(await stateOf(client, id))
    return `start-${number} ${id ?? ''}: ${does}; its client saw ${events} events, the last ${last ?? 'none'}; the server says ${now}`
  })
  return [`${open.length} of ${following.length} runs`, ...(await Promise.all(lines))].join('\n')
}

async function stateOf(client: Client, id: string): Promise<unknown> {
  return Promise.race([client.runs.get(id), wait(5000, 'nothing within 5 s')]).catch((cause: unknown) => String(cause))
}

export function report(
  random: { readonly seed: number },
  step: string,
  following: readonly Following<unknown>[],
): void {
  const over = following.filter(({ state }) => state.isOver).length
  process.stdout.write(`storm ${random.seed}: ${step}; ${over} of ${following.length} runs have ended\n`)
}
