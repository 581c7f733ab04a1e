/** Streams the stored lines of a finished run's log, reconnecting as needed. */
import { detailOf } from '../../core/model/errors.ts'
import type { Target } from '../target/target.ts'

const TRIES_MAX = 10
/** A complete log never pauses this long. */
const SILENCE_MS = 30_000

export async function* logLines({ url, key }: Target, run: string): AsyncGenerator<string> {
  let next = 0
  let failure = 'the server stopped sending'
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    try {
      for await (const line of readLines(eventsUrl(url, run, next), key)) {
        if (!line.startsWith(`{"run":${JSON.stringify(run)},"index":${next},`)) continue // a heartbeat or stream notice
        yield line
        next++
        tries = 0
        if (TERMINAL.test(line)) return
      }
    } catch (cause) {
      failure = detailOf(cause)
    }
  }
  throw new Error(`${run}: the log ends early, after ${next} events: ${failure}`)
}

const TERMINAL = /^\{"run":"[^"]*","index":\d+,"time":"[^"]*","type":"run\.(?:completed|failed|cancelled|rejected)"/

function eventsUrl(url: string, run: string, next: number): string {
  const after = next === 0 ? '' : `&after=${next - 1}`
  return `${url.replace(/\/+$/, '')}/runs/${encodeURIComponent(run)}/events?format=ndjson${after}`
}

async function* readLines(address: string, key: string | undefined): AsyncGenerator<string> {
  const response = await fetch(address, {
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(SILENCE_MS),
  })
  if (response.status !== 200 || response.body === null) throw new Error(`responded with status ${response.status}`)
  let rest = ''
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop()!
    yield* lines
  }
}
