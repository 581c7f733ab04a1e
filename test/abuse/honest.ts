/** Honest clients: each starts a run, reads it to its end, and notes how late every delta came and whether any was missing. */
import { request } from 'node:http'
import { EventParser } from '../../src/sse/index.ts'
import type { AbusedServer } from './messages.ts'

export interface HonestOptions {
  readonly runs: number
  readonly seconds: number
}

export interface HonestReport {
  /** Milliseconds from emission to arrival of every delta, in ascending order. */
  readonly latencies: readonly number[]
  /** What was lost or wrong. */
  readonly problems: readonly string[]
}

/** How often each run says something. */
const EVERY_MS = 200
/** After the time that a run takes by itself. */
const LATE_MS_MAX = 60_000

export async function honestRuns(server: AbusedServer, { runs, seconds }: HonestOptions): Promise<HonestReport> {
  const count = Math.ceil((seconds * 1000) / EVERY_MS)
  const followed = await Promise.all(Array.from({ length: runs }, () => follow(server, count)))
  return {
    latencies: followed.flatMap(({ latencies }) => latencies).toSorted((a, b) => a - b),
    problems: followed.flatMap(({ problem }) => (problem === undefined ? [] : [problem])),
  }
}

interface Followed {
  readonly latencies: readonly number[]
  readonly problem?: string
}

function follow({ url, honestKey }: AbusedServer, count: number): Promise<Followed> {
  const { promise, resolve } = Promise.withResolvers<Followed>()
  const latencies: number[] = []
  let next = 0
  let last = ''
  let problem: string | undefined
  const parser = new EventParser({
    event({ event, data }) {
      if (event.startsWith('stream.')) return
      const arrived = process.hrtime.bigint()
      const { index, data: body } = JSON.parse(data) as { index: number; data: { readonly text?: string } }
      if (index !== next++) problem ??= `event ${index} came where ${next - 1} belongs`
      last = event
      if (event === 'text.delta') latencies.push(Number(arrived - BigInt(body.text!)) / 1e6)
    },
  })
  const client = request(`${url}/runs`, {
    method: 'POST',
    agent: false,
    timeout: count * EVERY_MS + LATE_MS_MAX,
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      authorization: `Bearer ${honestKey}`,
    },
  })
  const finish = (how: string): void => {
    if (last !== 'run.completed') problem ??= `${how} after ${next} events, the last of which was ${last}`
    if (latencies.length !== count) problem ??= `${latencies.length} of ${count} deltas came`
    resolve({ latencies, ...(problem !== undefined && { problem }) })
  }
  client.on('response', (response) => {
    if (response.statusCode !== 200) problem = `the start was answered with ${response.statusCode}`
    response.setEncoding('utf8').on('data', (text: string) => parser.push(text))
    response.on('close', () => finish('the stream ended'))
  })
  client.on('timeout', () => client.destroy(new Error('nothing was heard any more')))
  client.on('error', (cause) => finish(`the connection failed (${cause.message})`))
  client.end(JSON.stringify({ component: 'ticker', input: { count, everyMs: EVERY_MS } }))
  return promise
}

/** Of values in ascending order. */
export function percentile(values: readonly number[], share: number): number {
  return values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0
}
