/** Asks a running server to forget a principal, and reads its progress. */
import { ApiError, ConnectionError } from '../../client/index.ts'
import { detailOf } from '../../core/model/errors.ts'
import type { ForgetResult } from '../../core/service.ts'
import type { RemovalCount } from '../../core/access/forget.ts'

export interface ForgetAtServer {
  readonly url: string
  readonly key: string | undefined
  readonly body: {
    readonly principal: string
    readonly tenant?: string
    readonly stop: boolean
    readonly dryRun: boolean
  }
  readonly onProgress: (removed: RemovalCount) => void
}

/** The server reports progress every second, so a longer silence means that it died. */
const SILENCE_MS = 60_000
const LINE_CHARS_MAX = 1024 * 1024

interface Problem {
  readonly detail?: string
  readonly code?: string
  readonly retryable?: boolean
  readonly status?: number
}

interface Line {
  readonly progress?: RemovalCount
  readonly report?: ForgetResult
  readonly error?: Problem
}

export async function forgetAtServer({ url, key, body, onProgress }: ForgetAtServer): Promise<ForgetResult> {
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(new Error('the server stopped responding')), SILENCE_MS)
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}/admin/forget`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: silence.signal,
    })
    if (!response.ok) throw refusal(response.status, problemIn(await response.text()))
    for await (const line of linesOf(response.body!)) {
      timer.refresh()
      const { progress, report, error } = JSON.parse(line) as Line
      if (progress !== undefined) onProgress(progress)
      if (error !== undefined) throw refusal(error.status ?? 500, error)
      if (report !== undefined) return report
    }
    throw new Error('the response ended before the report')
  } catch (cause) {
    if (cause instanceof ApiError) throw cause
    throw new ConnectionError(`${detailOf(cause)}; run the command again to continue`, { cause })
  } finally {
    clearTimeout(timer)
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop()!
    if (rest.length > LINE_CHARS_MAX) throw new Error('the response is not from a Holdfast server')
    yield* lines
  }
}

function problemIn(text: string): Problem {
  try {
    return JSON.parse(text) as Problem
  } catch {
    return {} // a proxy responded
  }
}

function refusal(status: number, { detail, code, retryable = false }: Problem): ApiError {
  return new ApiError(detail ?? `responded with status ${status}`, {
    status,
    code: code ?? `http_${status}`,
    retryable,
  })
}
