/** Handle of one run: its events, text, result and commands. */
import type { LoggedEvent } from '../core/model/event.ts'
import type { OnProblem } from './backoff.ts'
import { RunError } from './errors.ts'
import { type Follow, type FollowOptions, isLast, type OnGap, type OnLogChanged, type Position } from './follow.ts'
import { RunText } from './text.ts'
import type { Fields, Transport } from './transport.ts'
import type { Abortable, Answers, RunInfo, ShareInfo, ShareLink, ShareOptions } from './types.ts'

export interface EventsOptions extends Abortable {
  /** Index of the last event that you have. Default: from the beginning. */
  readonly after?: number
  /** Called when events were trimmed. Default: throw `GapError`. */
  readonly onGap?: OnGap
  /** Called when the log was replaced; its events follow from the first. Default: throw `LogChangedError`. */
  readonly onLogChanged?: OnLogChanged
  /** Called when the connection failed and will be retried, and with `undefined` when it has recovered. */
  readonly onProblem?: OnProblem
}

export interface TextOptions extends EventsOptions {
  /** Called with the remaining text when delivered text is retracted, for example by a retry. Later pieces continue it. */
  readonly onWithdrawn?: (standing: string) => void
}

export interface StopOptions extends Abortable {
  readonly reason?: string
  /** How long to wait for the end of the run. Default: 0. */
  readonly waitMs?: number
}

/** Whether it is a run in our server's format. */
export function isRun({ id, status, events }: Fields): boolean {
  return typeof id === 'string' && typeof status === 'string' && typeof events === 'number'
}

/** Events of a run, each exactly once, in order, across connection and server failures. Can be iterated once. */
export class RunStream implements AsyncIterable<LoggedEvent> {
  readonly #position: Position
  readonly #events: () => AsyncGenerator<LoggedEvent>
  #taken = false

  constructor(position: Position, events: () => AsyncGenerator<LoggedEvent>) {
    this.#position = position
    this.#events = events
  }

  get run(): string {
    return this.#position.run
  }

  /** Index of the last delivered event: pass it as `after` to continue. */
  get cursor(): number {
    return this.#position.cursor
  }

  [Symbol.asyncIterator](): AsyncGenerator<LoggedEvent> {
    if (this.#taken) throw new TypeError('a stream can be read only once; open another one with after: stream.cursor')
    this.#taken = true
    return this.#events()
  }
}

export class RunHandle {
  readonly id: string
  readonly #transport: Transport
  readonly #follow: Follow
  readonly #isThis = (body: Fields): boolean => isRun(body) && body['id'] === this.id
  /** Where a loop without `after` starts: where the last finished loop of its kind ended. */
  readonly #from: { events: number; text: number }
  #furthest: number

  constructor(transport: Transport, follow: Follow, id: string, after = -1) {
    this.id = id
    this.#transport = transport
    this.#follow = follow
    this.#furthest = checked(after)
    this.#from = { events: after, text: after }
  }

  /** Index of the last event that any loop over `events` or `text` delivered; -1 before the first. */
  get cursor(): number {
    return this.#furthest
  }

  /**
   * Events to the end of the run, from `after` or from where the last finished loop over events ended. Loops are independent:
   * each gets every event. Leaving the loop, or aborting, does not stop the run.
   */
  events(options: EventsOptions = {}): RunStream {
    return this.#open('events', options)
  }

  /** Text of the run's own component in pieces, from `after` or from where the last finished loop over text ended. */
  text({ onWithdrawn, onLogChanged, ...options }: TextOptions = {}): AsyncGenerator<string> {
    const text = new RunText()
    const restart: OnLogChanged = (change) => {
      text.clear()
      onLogChanged?.(change)
      onWithdrawn?.('')
    }
    const canRestart = onLogChanged !== undefined || onWithdrawn !== undefined
    const events = this.#open('text', { ...options, ...(canRestart && { onLogChanged: restart }) })
    return textIn(events, text, onWithdrawn)
  }

  /** The run's output, once it has completed. Throws `RunError` if it ended otherwise. */
  async result<Output = unknown>(options: Abortable = {}): Promise<Output> {
    let run = await this.get(options)
    if (run.finishedAt === undefined) {
      const position = { run: this.id, cursor: run.events - 1 }
      for await (const event of this.#follow(position, { ...options, onGap: () => {} })) if (isLast(event)) break
      run = await this.get(options)
    }
    if (run.status === 'completed') return run.output as Output
    throw failureOf(run)
  }

  get({ signal }: Abortable = {}): Promise<RunInfo> {
    return this.#transport.json<RunInfo>({ path: this.#path(), run: this.id, signal, answer: this.#isThis })
  }

  /** Requests a stop. Idempotent; a finished run is unchanged. */
  stop({ reason, waitMs, signal }: StopOptions = {}): Promise<RunInfo> {
    return this.#transport.json<RunInfo>({
      method: 'POST',
      path: this.#path('/stop'),
      query: { wait: waitMs },
      body: reason === undefined ? {} : { reason },
      run: this.id,
      signal,
      answer: this.#isThis,
    })
  }

  /** Answers the questions of a paused run. Not retried once the server may have accepted it. */
  answer(answers: Answers, { signal }: Abortable = {}): Promise<RunInfo> {
    return this.#transport.json<RunInfo>({
      method: 'POST',
      path: this.#path('/answers'),
      body: answers,
      run: this.id,
      signal,
      answer: this.#isThis,
      repeat: 'refused',
    })
  }

  /** Removes a finished run. Not retried once the server may have done it. */
  async delete({ signal }: Abortable = {}): Promise<void> {
    await this.#transport.json<undefined>({
      method: 'DELETE',
      path: this.#path(),
      run: this.id,
      signal,
      answer: 'none',
      repeat: 'refused',
    })
  }

  /** Creates a link that gives its holder access to this run only. Not retried once the server may have created it. */
  async share({ can, expiresIn, signal }: ShareOptions = {}): Promise<ShareLink> {
    const { path, ...share } = await this.#transport.json<ShareInfo & { path: string }>({
      method: 'POST',
      path: this.#path('/shares'),
      body: { can, expiresInMs: expiresIn },
      run: this.id,
      signal,
      answer: (body) => typeof body['id'] === 'string' && typeof body['path'] === 'string',
      repeat: 'refused',
    })
    return { ...share, url: this.#transport.url + path }
  }

  /** The run's unexpired links, without their secrets. */
  async shares({ signal }: Abortable = {}): Promise<readonly ShareInfo[]> {
    const path = this.#path('/shares')
    const { shares } = await this.#transport.json<{ shares: ShareInfo[] }>({
      path,
      run: this.id,
      signal,
      answer: (body) => Array.isArray(body['shares']),
    })
    return shares
  }

  /** Revokes a link; streams that were opened with it end within two seconds. */
  async revokeShare(share: string, { signal }: Abortable = {}): Promise<void> {
    await this.#transport.json<undefined>({
      method: 'DELETE',
      path: this.#path(`/shares/${encodeURIComponent(share)}`),
      run: this.id,
      signal,
      answer: 'none',
      repeat: 'refused',
    })
  }

  #open(kind: 'events' | 'text', { after, ...options }: EventsOptions): RunStream {
    const position = { run: this.id, cursor: after === undefined ? this.#from[kind] : checked(after) }
    return new RunStream(position, () => this.#loop(kind, position, options))
  }

  async *#loop(
    kind: 'events' | 'text',
    position: Position,
    { onLogChanged, ...options }: FollowOptions,
  ): AsyncGenerator<LoggedEvent> {
    const restart: OnLogChanged = (change) => {
      this.#furthest = -1
      onLogChanged?.(change)
    }
    const changed = onLogChanged === undefined ? {} : { onLogChanged: restart }
    try {
      for await (const event of this.#follow(position, { ...options, ...changed })) {
        this.#furthest = Math.max(this.#furthest, event.index)
        yield event
      }
    } finally {
      this.#from[kind] = position.cursor
    }
  }

  #path(rest = ''): string {
    return `/runs/${encodeURIComponent(this.id)}${rest}`
  }
}

async function* textIn(
  events: AsyncIterable<LoggedEvent>,
  text: RunText,
  onWithdrawn: TextOptions['onWithdrawn'],
): AsyncGenerator<string> {
  for await (const event of events) {
    const change = text.apply(event)
    if (change === 'withdrawn') onWithdrawn?.(text.value)
    else if (change !== undefined) yield change.added
  }
}

function checked(after: number): number {
  if (Number.isInteger(after) && after >= -1) return after
  throw new RangeError(`after is ${after}, but must be the index of an event, or -1 for the beginning`)
}

function failureOf({ id, status, error, reason }: RunInfo): RunError {
  if (status === 'failed' && error !== undefined) {
    const { code, message, retryable = false, details } = error
    return new RunError('failed', message, { code, retryable, details, run: id })
  }
  const outcome = status === 'rejected' ? 'rejected' : 'cancelled'
  return new RunError(outcome, reason ?? `run ${id} was ${outcome}`, { code: outcome, retryable: false, run: id })
}
