/** A long A2A task: the time per stream event must not grow with the number of events. */
import type { Bench, Scenario } from '../bench.ts'
import { atLeast, atMost, median, show } from '../figures.ts'

const EVENTS = 2000
const MANY_EVENTS = 10_000
/** The SDK needs about ten seconds per run. */
const SDK_ROUNDS = 2

export const a2a: Scenario = {
  name: 'a2a',
  about: 'one A2A task of many artifact chunks, streamed; the official SDK beside it',
  async run(bench) {
    const ours = await urlOf(bench, 'a2a-holdfast.js', bench.folder())
    const sdk = await urlOf(bench, 'a2a-sdk.js')
    await Promise.all([stream(ours, 200), stream(sdk, 20)])
    const times = { ours: [] as number[], many: [] as number[], sdk: [] as number[] }
    for (let round = 0; round < bench.rounds; round++) {
      times.ours.push(await stream(ours, EVENTS))
      times.many.push(await stream(ours, MANY_EVENTS))
      if (round < SDK_ROUNDS) times.sdk.push(await stream(sdk, EVENTS))
    }
    const [few, many, official] = [median(times.ours), median(times.many), median(times.sdk)]
    bench.note(
      `${EVENTS} events: ${show(few)} ms, the SDK ${show(official)} ms; ${MANY_EVENTS} events: ${show(many)} ms`,
    )
    return [
      atLeast(`A2A, ${EVENTS} events: events per second, of @a2a-js/sdk`, 50, official / few),
      atMost(
        `A2A, ${MANY_EVENTS} events: time per event, of that at ${EVENTS}`,
        1.5,
        (many / few) * (EVENTS / MANY_EVENTS),
      ),
    ]
  },
}

async function urlOf(bench: Bench, file: string, ...parameters: string[]): Promise<string> {
  const [, url] = await bench.processes.start<string>(`servers/${file}`, parameters)
  return url
}

/** Milliseconds from request to end; fails if a piece is missing. */
async function stream(url: string, pieces: number): Promise<number> {
  const begun = performance.now()
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: String(pieces) }] }
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } }),
  })
  const text = await response.text()
  const took = performance.now() - begun
  // A frame may hold several pieces, so they are counted by content.
  const said = new Set([...text.matchAll(/piece (\d+) of an answer/g)].map(([, number]) => number))
  if (said.size !== pieces) throw new Error(`${url} told ${said.size} of ${pieces} pieces: ${text.slice(0, 300)}`)
  return took
}
