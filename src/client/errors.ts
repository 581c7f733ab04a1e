/** What can go wrong for a client: each error has a code to decide by, and says whether to try again helps. */

export interface ClientErrorFacts {
  readonly code: string
  readonly retryable: boolean
  /** Id of the run that it is about. */
  readonly run?: string | undefined
  readonly details?: unknown
  readonly cause?: unknown
}

export class ClientError extends Error {
  override readonly name: string = 'ClientError'
  readonly code: string
  readonly retryable: boolean
  readonly run: string | undefined
  readonly details: unknown
  /** The client is trying again by itself: what `onProblem` is told. Of what is thrown it is false. */
  retrying = false
  /** While `retrying`: milliseconds between this failure and the next try. */
  retryInMs: number | undefined

  constructor(message: string, { code, retryable, run, details, cause }: ClientErrorFacts) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.retryable = retryable
    this.run = run
    this.details = details
  }
}

/** The server, or something in front of it, refused a request. The codes are those of docs/errors.md, or `http_STATUS`. */
export class ApiError extends ClientError {
  override readonly name = 'ApiError'
  readonly status: number
  /** By which the server's own log lines are found. */
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    facts: ClientErrorFacts & { status: number; requestId?: string | undefined; retryAfterMs?: number | undefined },
  ) {
    super(message, facts)
    this.status = facts.status
    this.requestId = facts.requestId
    this.retryAfterMs = facts.retryAfterMs
  }
}

/** No usable answer came: the network, a proxy, or a server that is gone. The run, if there is one, goes on without us. */
export class ConnectionError extends ClientError {
  override readonly name = 'ConnectionError'

  constructor(message: string, about: Pick<ClientErrorFacts, 'run' | 'cause'> = {}) {
    super(message, { ...about, code: 'connection', retryable: true })
  }
}

/** Events that were asked for are no longer kept. What is left begins at `earliest`. */
export class GapError extends ClientError {
  override readonly name = 'GapError'
  readonly earliest: number

  constructor(run: string, earliest: number) {
    super(`run ${run}: events before ${earliest} were trimmed; go on with after: ${earliest - 1}, or give onGap`, {
      code: 'gap',
      retryable: false,
      run,
    })
    this.earliest = earliest
  }
}

/** The log that the cursor stood in is gone: it was restored from a backup, or a failover lost events. It has to be read anew. */
export class LogChangedError extends ClientError {
  override readonly name = 'LogChangedError'

  constructor(run: string, cause?: unknown) {
    super(`run ${run}: the log is another one than before; read it from the beginning, or give onLogChanged`, {
      code: 'log_changed',
      retryable: false,
      run,
      cause,
    })
  }
}

/** The run did not complete. The code of one that failed is its failure's. */
export class RunError extends ClientError {
  override readonly name = 'RunError'
  override readonly run: string
  readonly outcome: 'failed' | 'cancelled' | 'rejected'

  constructor(
    outcome: 'failed' | 'cancelled' | 'rejected',
    message: string,
    facts: ClientErrorFacts & { readonly run: string },
  ) {
    super(message, facts)
    this.run = facts.run
    this.outcome = outcome
  }
}
