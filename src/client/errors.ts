/** Client errors: each has a code, and says whether a retry can help. */

export interface ClientErrorOptions {
  readonly code: string
  readonly retryable: boolean
  /** Id of the run concerned. */
  readonly run?: string | undefined
  readonly details?: unknown
  readonly cause?: unknown
}

/** Base class of all errors of the client: each has a code, and says whether a retry can help. */
export class ClientError extends Error {
  override readonly name: string = 'ClientError'
  readonly code: string
  readonly retryable: boolean
  readonly run: string | undefined
  readonly details: unknown
  /** The client is retrying by itself, as reported to `onProblem`. Always false for thrown errors. */
  retrying = false
  /** While `retrying`: milliseconds between this failure and the next attempt. */
  retryInMs: number | undefined

  constructor(message: string, { code, retryable, run, details, cause }: ClientErrorOptions) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.retryable = retryable
    this.run = run
    this.details = details
  }
}

/** The server, or something in front of it, refused a request. Codes: see docs/errors.md, or `http_STATUS`. */
export class ApiError extends ClientError {
  override readonly name = 'ApiError'
  readonly status: number
  /** Finds the request in the server's log. */
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    facts: ClientErrorOptions & { status: number; requestId?: string | undefined; retryAfterMs?: number | undefined },
  ) {
    super(message, facts)
    this.status = facts.status
    this.requestId = facts.requestId
    this.retryAfterMs = facts.retryAfterMs
  }
}

/** No usable response arrived: the network, a proxy or the server failed. A started run continues on the server. */
export class ConnectionError extends ClientError {
  override readonly name = 'ConnectionError'

  constructor(message: string, about: Pick<ClientErrorOptions, 'run' | 'cause'> = {}) {
    super(message, { ...about, code: 'connection', retryable: true })
  }
}

/** The requested events were trimmed. The log now starts at `earliest`. */
export class GapError extends ClientError {
  override readonly name = 'GapError'
  readonly earliest: number

  constructor(run: string, earliest: number) {
    super(`run ${run}: events before ${earliest} were trimmed; continue with after: ${earliest - 1}, or pass onGap`, {
      code: 'gap',
      retryable: false,
      run,
    })
    this.earliest = earliest
  }
}

/** The log at the cursor was replaced: restored from a backup, or a failover lost events. Read it from the beginning. */
export class LogChangedError extends ClientError {
  override readonly name = 'LogChangedError'

  constructor(run: string, cause?: unknown) {
    super(`run ${run}: the log was replaced; read it from the beginning, or pass onLogChanged`, {
      code: 'log_changed',
      retryable: false,
      run,
      cause,
    })
  }
}

/** The run did not complete. For a failed run, the code is its failure's. */
export class RunError extends ClientError {
  override readonly name = 'RunError'
  override readonly run: string
  readonly outcome: 'failed' | 'cancelled' | 'rejected'

  constructor(
    outcome: 'failed' | 'cancelled' | 'rejected',
    message: string,
    facts: ClientErrorOptions & { readonly run: string },
  ) {
    super(message, facts)
    this.run = facts.run
    this.outcome = outcome
  }
}
