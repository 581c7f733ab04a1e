/** Invariants that must hold for every input. */
import type { Ready } from './messages.ts'
import type { FuzzedServer } from './server.ts'

/** No input may hold the event loop for longer, in CPU time. */
const TURN_MS_MAX = 100

/** A garbage collection may fall into any tick, but not into the same one each time. */
const ROUNDS = 3

/** Not 503, which reports overload, nor 501 and 507, which report missing features and space. */
export function isFault(status: number): boolean {
  return status >= 500 && ![501, 503, 507].includes(status)
}

/** Traces of server internals in a response. */
const INSIDES = /\.ts:\d+|node:internal|node_modules|SQLITE_|at async |TypeError|ReferenceError|RangeError/

/** The part of a response that leaks server internals, unless the client sent it. */
export function insidesIn(answer: string, sent: string): string | undefined {
  const [found] = INSIDES.exec(answer) ?? []
  return found === undefined || sent.includes(found) ? undefined : found
}

/** Acts on the server, and throws if it failed or blocked its event loop. */
export async function holdsBriefly(
  server: FuzzedServer,
  shown: string,
  act: (ready: Ready, round: number) => Promise<string | undefined>,
): Promise<void> {
  let longestMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS && longestMs > TURN_MS_MAX; round++)
    longestMs = Math.min(longestMs, await holds(server, shown, (ready) => act(ready, round)))
  if (longestMs > TURN_MS_MAX)
    throw new Error(`the event loop was held for ${longestMs.toFixed(0)} ms of CPU\n${shown}`)
}

async function holds(
  server: FuzzedServer,
  shown: string,
  act: (ready: Ready) => Promise<string | undefined>,
): Promise<number> {
  let problem: string | undefined
  const { errors, longestMs } = await server.measured(async (ready) => {
    problem = await act(ready)
  })
  if (errors.length > 0) problem ??= `the server logged an error: ${errors[0]}`
  if (problem !== undefined) throw new Error(`${problem}\n${shown}`)
  return longestMs
}
