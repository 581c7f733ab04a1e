/** Talking to another server: bodies are bounded, a silent stream is a cut one, and a failure says what was the matter. */
import { WorkFailure } from '../../core/ports/component.ts'
import { messageOf } from '../../core/model/errors.ts'
import { FrameTooLargeError, type ParsedEvent } from '../../sse/parse.ts'
import { eventsIn, piecesOf } from '../../sse/read.ts'
import { pause } from './pause.ts'

/** What can become of a request or a stream, that may work another time. */
export class RemoteError extends Error {
  override readonly name = 'RemoteError'
  readonly status: number | undefined
  /** The other side has certainly not acted on it. */
  readonly unheard: boolean

  constructor(message: string, { status, unheard = false }: { status?: number; unheard?: boolean } = {}) {
    super(message)
    this.status = status
    this.unheard = unheard
  }
}

export interface RemoteRequest {
  readonly url: string
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | URLSearchParams
  readonly signal: AbortSignal
  /** Until the answer begins. */
  readonly timeoutMs: number
}

/** Largest answer, and largest event of a stream. */
const ANSWER_CHARS_MAX = 16 * 1024 * 1024
/** How much of a refusal is told. */
const REFUSAL_CHARS_MAX = 500

/** The answer, whatever its status; a `RemoteError` where there is none. A redirect could lead anywhere, with keys and prompt: it fails. */
export async function request({ url, signal, timeoutMs, ...init }: RemoteRequest): Promise<Response> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.any([signal, late.signal]) })
    if (response.status >= 300 && response.status < 400) throw await redirected(url, response)
    return response
  } catch (thrown) {
    signal.throwIfAborted()
    if (thrown instanceof WorkFailure) throw thrown
    const { code, message } = ((thrown as Error).cause ?? {}) as { code?: unknown; message?: string }
    const unheard = code === 'ECONNREFUSED' || code === 'ENOTFOUND'
    throw new RemoteError(`${new URL(url).host} cannot be reached: ${message ?? messageOf(thrown)}`, { unheard })
  } finally {
    clearTimeout(timer)
  }
}

async function redirected(url: string, { status, headers, body }: Response): Promise<WorkFailure> {
  await body?.cancel()
  const where = (headers.get('location') ?? 'nowhere').slice(0, REFUSAL_CHARS_MAX)
  const message = `${new URL(url).host} answered with a redirect (${status}) to ${where}, which is not followed: use that address as the url`
  return new WorkFailure({ code: 'agent_failed', message, details: { status } })
}

/** The same, where anything but a success is an error: one that lasts, or one that may pass. */
export async function requestOk(asked: RemoteRequest): Promise<Response> {
  const response = await request(asked)
  if (response.ok) return response
  const { status } = response
  const said = (await readText(response).catch(() => '')).slice(0, REFUSAL_CHARS_MAX)
  const message = `${new URL(asked.url).host} answered ${status}${said === '' ? '' : `: ${said}`}`
  if (status === 429 || status >= 500)
    throw new RemoteError(message, { status, unheard: status === 429 || status === 503 })
  throw new WorkFailure({ code: 'agent_failed', message, details: { status } })
}

/** A bounded body. */
async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > ANSWER_CHARS_MAX) throw tooLarge(`an answer of more than ${ANSWER_CHARS_MAX} characters`)
  }
  return text + decoder.decode()
}

export async function readJson(response: Response): Promise<unknown> {
  const text = await readText(response)
  try {
    return JSON.parse(text)
  } catch {
    throw new RemoteError(`an answer that is not JSON: ${text.slice(0, REFUSAL_CHARS_MAX)}`, {
      status: response.status,
    })
  }
}

/** The events of a stream, until it ends. One that shows no life for so long is taken for cut. */
export async function* eventsOf(response: Response, idleTimeoutMs: number): AsyncGenerator<ParsedEvent, void, void> {
  try {
    yield* eventsIn(
      piecesOf(response.body, (piece) => within(idleTimeoutMs, piece)),
      { charsMax: ANSWER_CHARS_MAX },
    )
  } catch (thrown) {
    if (thrown instanceof FrameTooLargeError) throw tooLarge(thrown.message)
    throw thrown instanceof RemoteError ? thrown : new RemoteError(`the stream was cut: ${messageOf(thrown)}`)
  }
}

function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const silent = (): void => reject(new RemoteError(`the stream was silent for ${milliseconds} ms`))
  const timer = setTimeout(silent, milliseconds)
  return Promise.race([work, promise]).finally(() => clearTimeout(timer))
}

function tooLarge(message: string): WorkFailure {
  return new WorkFailure({ code: 'too_large', message: `the remote agent sent too much: ${message}` })
}

export interface RetryOptions {
  /** Failures in a row that are put up with. */
  readonly retries: number
  /** The first wait; each further one is twice as long. */
  readonly retryDelayMs: number
}

const DELAY_MAX_MS = 10_000

/** Waits longer each time in a row that something failed, and at last fails itself. */
export class RetryBudget {
  readonly #options: RetryOptions
  readonly #signal: AbortSignal
  #failures = 0

  constructor(options: RetryOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = signal
  }

  /** Something came. */
  reset(): void {
    this.#failures = 0
  }

  /** Something failed, and may be tried again once this resolves. What lasts is thrown at once. */
  async wait(thrown: unknown): Promise<void> {
    this.#signal.throwIfAborted()
    if (!(thrown instanceof RemoteError)) throw thrown
    if (++this.#failures > this.#options.retries) {
      const details = { tries: this.#failures, ...(thrown.status !== undefined && { status: thrown.status }) }
      throw new WorkFailure({ code: 'unavailable', message: thrown.message, retryable: true, details })
    }
    await pause(Math.min(this.#options.retryDelayMs * 2 ** (this.#failures - 1), DELAY_MAX_MS), this.#signal)
  }
}
