/** The log of a finished run as lines, as they are stored, over as many connections as it takes. */
import { detailOf } from '../../core/model/errors.ts'
import type { Target } from '../target.ts'

const TRIES_MAX = 10
/** Nothing is that long in a log that is complete. */
const SILENCE_MS = 30_000

export async function* logLines({ url, key }: Target, run: string): AsyncGenerator<string> {
  let next = 0
  let failure = 'the server sent no more'
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    try {
      for await (const line of readLines(eventsUrl(url, run, next), key)) {
        if (!line.startsWith(`{"run":${JSON.stringify(run)},"index":${next},`)) continue // a heartbeat, or about the stream
        yield line
        next++
        tries = 0
        if (TERMINAL.test(line)) return
      }
    } catch (cause) {
      failure = detailOf(cause)
    }
  }
  throw new Error(`${run}: the log breaks off after ${next} events: ${failure}`)
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
  if (response.status !== 200 || response.body === null) throw new Error(`answered with status ${response.status}`)
  let rest = ''
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop()!
    yield* lines
  }
}
