/** Records a page's requests and their outcomes, to explain views that do not finish. */
import type { OnProblem } from '../../../src/client/index.ts'

/** Header that identifies a request to the proxy. */
export const TRY_HEADER = 'x-torture-try'
const ENTRIES_MAX = 50_000
const MESSAGE_CHARS_MAX = 120

/** A request, or a pause of the client. */
export interface Try {
  /** Milliseconds; the page and the test program share a clock. */
  readonly at: number
  /** A run id, or the session of a run that is not started yet. */
  readonly about: string
  readonly what: string
  /** The request's id for the proxy. */
  readonly number?: number
  /** How it ended, if it did. */
  end?: string
  tookMs?: number
}

export interface Tries {
  readonly entries: Try[]
  left: number
}

export function recordTries(): { tries: Tries; fetch: typeof fetch; onProblem: OnProblem } {
  const tries: Tries = { entries: [], left: 0 }
  let number = 0
  const add = (entry: Try): Try => {
    if (tries.entries.length < ENTRIES_MAX) tries.entries.push(entry)
    else tries.left++
    return entry
  }
  return {
    tries,
    async fetch(input, init) {
      const url = new URL(input as string, location.href)
      const { session } = (typeof init?.body === 'string' ? JSON.parse(init.body) : {}) as { session?: string }
      const about = session ?? url.pathname.split('/')[2]!
      const entry = add({ at: Date.now(), about, what: described(url, init?.method), number: ++number })
      const close = (end: string): void => {
        if (entry.end !== undefined) return
        entry.end = end
        entry.tookMs = Date.now() - entry.at
      }
      init?.signal?.addEventListener('abort', () => close('given up by the client'))
      try {
        const headers = { ...(init?.headers as Record<string, string>), [TRY_HEADER]: String(number) }
        const response = await fetch(input, { ...init, headers })
        close(`${response.status} ${response.headers.get('content-type') ?? ''}`)
        return response
      } catch (cause) {
        close(String(cause))
        throw cause
      }
    },
    onProblem(problem) {
      if (problem?.retryInMs === undefined) return
      const { run = '', message, retryInMs } = problem
      const what = `pauses for ${(retryInMs / 1000).toFixed(1)} s: ${message.slice(0, MESSAGE_CHARS_MAX)}`
      add({ at: Date.now(), about: run, what })
    },
  }
}

function described(url: URL, method = 'GET'): string {
  const requested = [...url.searchParams].map(([name, value]) => `${name}=${value}`).join(' ')
  return `${method} ${url.pathname.split('/')[3] ?? 'start'} ${requested}`
}
