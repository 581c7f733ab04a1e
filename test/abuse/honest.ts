/**
 * Honest clients: each starts a run, reads it to its end, and notes how late every delta came and whether any was missing. A client
 * that is refused or cut tries again as real ones do: it repeats the start with its idempotency key, or resumes after the last event.
 */
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { EventParser } from '../../src/sse/index.ts'
import type { AbusedServer } from './messages.ts'

export interface HonestOptions {
  readonly runs: number
  readonly seconds: number
}

export interface HonestReport {
  /** Milliseconds from emission to arrival of every delta, in ascending order. */
  readonly latencies: readonly number[]
  /** Lost or wrong events. */
  readonly problems: readonly string[]
  /** Why clients had to connect again. */
  readonly interruptions: readonly string[]
}

/** Interval between the texts of a run. */
const EVERY_MS = 200
/** After the time that a run takes by itself. */
const LATE_MS_MAX = 60_000
const CONNECTIONS_MAX = 10
/** Delay before the next connection, if the server sends none. */
const AGAIN_MS = 250

export async function honestRuns(server: AbusedServer, { runs, seconds }: HonestOptions): Promise<HonestReport> {
  const count = Math.ceil((seconds * 1000) / EVERY_MS)
  const clients = Array.from({ length: runs }, () => new HonestClient(server, count))
  await Promise.all(clients.map((client) => client.follow()))
  return {
    latencies: clients.flatMap(({ latencies }) => latencies).toSorted((a, b) => a - b),
    problems: clients.flatMap(({ problems }) => problems),
    interruptions: clients.flatMap(({ interruptions }) => interruptions),
  }
}

class HonestClient implements HonestReport {
  readonly latencies: number[] = []
  readonly problems: string[] = []
  readonly interruptions: string[] = []
  readonly #server: AbusedServer
  readonly #count: number
  readonly #key = crypto.randomUUID()
  #run: string | undefined
  #next = 0
  #last = ''

  constructor(server: AbusedServer, count: number) {
    this.#server = server
    this.#count = count
  }

  async follow(): Promise<void> {
    for (let connection = 0; connection < CONNECTIONS_MAX && this.#last !== 'run.completed'; connection++) {
      const { why, afterMs = AGAIN_MS } = await this.#connect()
      if (why === undefined) break
      this.interruptions.push(why)
      await wait(afterMs)
    }
    if (this.#last !== 'run.completed') this.problems.push(`after ${this.#next} events the last was ${this.#last}`)
    if (this.latencies.length !== this.#count)
      this.problems.push(`${this.latencies.length} of ${this.#count} deltas came`)
  }

  /** Reads one connection to its end, and returns why it ended before the run did. */
  #connect(): Promise<{ readonly why?: string; readonly afterMs?: number }> {
    const { promise, resolve } = Promise.withResolvers<{ readonly why?: string; readonly afterMs?: number }>()
    const client = this.#request()
    client.on('response', (response: IncomingMessage) => {
      if (response.statusCode !== 200) {
        response.resume()
        const afterMs = Number(response.headers['retry-after'] ?? 0) * 1000 || AGAIN_MS
        return resolve({ why: `refused with ${response.statusCode}`, afterMs })
      }
      this.#run ??= response.headers['holdfast-run'] as string
      const parser = new EventParser({ event: (event) => this.#take(event) })
      response.setEncoding('utf8').on('data', (text: string) => parser.push(text))
      response.on('close', () =>
        resolve(this.#last === 'run.completed' ? {} : { why: `cut after ${this.#next} events` }),
      )
    })
    client.on('timeout', () => client.destroy(new Error('nothing was heard any more')))
    client.on('error', (cause) => resolve({ why: `the connection failed (${cause.message})` }))
    return promise
  }

  #request(): ReturnType<typeof request> {
    const { url, honestKey } = this.#server
    const timeout = this.#count * EVERY_MS + LATE_MS_MAX
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${honestKey}` }
    if (this.#run !== undefined)
      return request(`${url}/runs/${this.#run}/events`, {
        agent: false,
        timeout,
        headers: { ...headers, ...(this.#next > 0 && { 'last-event-id': String(this.#next - 1) }) },
      }).end()
    return request(`${url}/runs`, {
      method: 'POST',
      agent: false,
      timeout,
      headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': this.#key },
    }).end(JSON.stringify({ component: 'ticker', input: { count: this.#count, everyMs: EVERY_MS } }))
  }

  #take({ event, data }: { readonly event: string; readonly data: string }): void {
    if (event.startsWith('stream.')) return
    const arrived = process.hrtime.bigint()
    const { index, data: body } = JSON.parse(data) as { index: number; data: { readonly text?: string } }
    if (index !== this.#next) this.problems.push(`event ${index} came where ${this.#next} belongs`)
    this.#next = index + 1
    this.#last = event
    if (event === 'text.delta') this.latencies.push(Number(arrived - BigInt(body.text!)) / 1e6)
  }
}

/** Of values in ascending order. */
export function percentile(values: readonly number[], share: number): number {
  return values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0
}
