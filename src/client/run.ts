/** Handle of one run: its events, text, result and commands. */
import type { EventType, LoggedEvent } from '../core/model/event.ts'
import { isTerminalEvent } from '../core/structure/run-status.ts'
import type { OnProblem } from './backoff.ts'
import { RunError } from './errors.ts'
import { type Follow, follow, type FollowOptions, type OnGap, type OnLogChanged, type Position } from './follow.ts'
import { RunSnapshot, type SnapshotOptions } from './snapshot.ts'
import { RunText } from './text.ts'
import { type ResponseCheck, type Fields, hasId, isListOf, REMOVAL, type Request, type Transport } from './transport.ts'
import type {
  RequestOptions,
  Answers,
  LinksOptions,
  RunInfo,
  RunLinks,
  ShareInfo,
  ShareLink,
  ShareOptions,
} from './types.ts'

/** Options of everything that reads a run's log. */
export interface ReadOptions extends RequestOptions {
  /** Index of the last event that you have. Default: from the beginning. */
  readonly after?: number
  /** Called when events were trimmed. Default: throw `GapError`. */
  readonly onGap?: OnGap
  /** Called when the log was replaced; its events follow from the first. Default: throw `LogChangedError`. */
  readonly onLogChanged?: OnLogChanged
  /** Called when the connection failed and will be retried, and with `undefined` when it has recovered. Default: only `onProblem` of the client is called. */
  readonly onProblem?: OnProblem
}

/** Options of `run.events`. */
export interface EventsOptions extends Omit<ReadOptions, 'after'> {
  /** Index of the last event that you have, or `end` for only new events. Default: from the beginning. */
  readonly after?: number | 'end'
  /** Start with this many of the last events, instead of `after`. Default: `after` decides. */
  readonly tail?: number
  /**
   * Only events of these types, such as `tool.called`, or `tool.*` for all of a kind. The terminal event and `attempt.discarded` are
   * always delivered. Default: all.
   */
  readonly types?: readonly (EventType | `${string}.*`)[]
  /** Only events of these actors, by run id or component; the run's own component has the run's id. Default: all. */
  readonly actors?: readonly string[]
}

/** Options of `run.text`. */
export interface TextOptions extends ReadOptions {
  /** Called with the remaining text when delivered text is retracted, for example by a retry. Later pieces continue it. Default: ignored. */
  readonly onRetracted?: (validText: string) => void
}

/** Options of `run.stop`. */
export interface StopOptions extends RequestOptions {
  /** Recorded in the log. Default: none. */
  readonly reason?: string
  /** How long to wait for the end of the run. Default: 0. */
  readonly waitMs?: number
}

/** Whether a response is a run in Holdfast's format. */
export function isRun({ id, status, events }: Fields): boolean {
  return typeof id === 'string' && typeof status === 'string' && typeof events === 'number'
}

const hasLinks: ResponseCheck = (body) => isListOf(body['links'], hasId)

const hasShares: ResponseCheck = (body) => isListOf(body['shares'], hasId)

/** Events of a run, each once, in order, whatever happens to connections and servers. It can be read once. */
export class RunStream implements AsyncIterable<LoggedEvent> {
  readonly #position: Position
  readonly #events: () => AsyncGenerator<LoggedEvent>
  #isIterated = false

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
    if (this.#isIterated)
      throw new TypeError('a stream can be read only once; open another one with after: stream.cursor')
    this.#isIterated = true
    return this.#events()
  }
}

/** One run: its events, text, result and commands. Created by `runs.start` and `runs.open`. */
export class RunHandle {
  readonly id: string
  readonly #transport: Transport
  readonly #follow: Follow
  readonly #isThis = (body: Fields): boolean => isRun(body) && body['id'] === this.id
  /** Where a loop without `after` starts: where the last finished loop of its kind ended. */
  readonly #from: { events: number; text: number }
  #furthest: number

  constructor(transport: Transport, followLog: Follow, id: string, after = -1) {
    this.id = id
    this.#transport = transport
    this.#follow = followLog
    this.#furthest = checkCursor(after)
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

  /** The run's state, and the events after it, in one response. */
  snapshot(options: SnapshotOptions = {}): Promise<RunSnapshot> {
    return RunSnapshot.open(this.#transport, this.id, options)
  }

  /** Text of the run's own component in pieces, from `after` or from where the last finished loop over text ended. */
  text({ onRetracted, onLogChanged, ...options }: TextOptions = {}): AsyncGenerator<string> {
    const text = new RunText()
    const restart: OnLogChanged = (change) => {
      text.clear()
      onLogChanged?.(change)
      onRetracted?.('')
    }
    const canRestart = onLogChanged !== undefined || onRetracted !== undefined
    const events = this.#open('text', { ...options, ...(canRestart && { onLogChanged: restart }) })
    return textIn(events, text, onRetracted)
  }

  /** The run's output, once it has completed. Throws `RunError` if it ended otherwise. */
  async result<Output = unknown>(options: RequestOptions = {}): Promise<Output> {
    let run = await this.get(options)
    if (run.finishedAt === undefined) {
      const position = { run: this.id, cursor: run.events - 1 }
      for await (const event of this.#follow(position, { ...options, onGap: () => {} }))
        if (isTerminalEvent(event)) break
      run = await this.get(options)
    }
    if (run.status === 'completed') return run.output as Output
    throw failureOf(run)
  }

  get(options?: RequestOptions): Promise<RunInfo> {
    return this.#request('', {}, options)
  }

  /** Requests a stop. Idempotent; a finished run is unchanged. */
  stop({ reason, waitMs, signal }: StopOptions = {}): Promise<RunInfo> {
    return this.#request('/stop', { method: 'POST', query: { wait: waitMs }, body: { reason } }, { signal })
  }

  /** Answers a paused run's questions. Not retried once the server may have accepted it. */
  answer(answers: Answers, options?: RequestOptions): Promise<RunInfo> {
    return this.#request('/answers', { method: 'POST', body: answers, repeat: 'refused' }, options)
  }

  /** Removes a run that has ended. Like `answer`, not repeated once it may have been done. */
  delete(options?: RequestOptions): Promise<void> {
    return this.#request('', REMOVAL, options)
  }

  /** The ids of this run in each protocol, and one position translated to all of them. Default: the end of the log. */
  links({ protocol, position, signal }: LinksOptions = {}): Promise<RunLinks> {
    return this.#request('/links', { query: { protocol, position }, validate: hasLinks }, { signal })
  }

  /** Creates a link that gives its holder access to this run only. Not retried once the server may have created it. */
  async share({ can, expiresInMs, signal }: ShareOptions = {}): Promise<ShareLink> {
    const { path, ...share } = await this.#request<ShareInfo & { path: string }>(
      '/shares',
      {
        method: 'POST',
        body: { can, expiresInMs },
        validate: (body) => hasId(body) && typeof body['path'] === 'string',
        repeat: 'refused',
      },
      { signal },
    )
    return { ...share, url: this.#transport.url + path }
  }

  /** The links of this run that have not expired, without their secrets. */
  async shares(options?: RequestOptions): Promise<readonly ShareInfo[]> {
    const { shares } = await this.#request<{ shares: ShareInfo[] }>('/shares', { validate: hasShares }, options)
    return shares
  }

  /** Revokes a link. Its open connections are closed within two seconds. */
  revokeShare(share: string, options?: RequestOptions): Promise<void> {
    return this.#request(`/shares/${encodeURIComponent(share)}`, REMOVAL, options)
  }

  #open(kind: 'events' | 'text', options: EventsOptions): RunStream {
    const position = this.#positionFor(kind, options)
    return new RunStream(position, () => this.#loop(kind, position, options))
  }

  #positionFor(kind: 'events' | 'text', { after, tail, types, actors }: EventsOptions): Position {
    const selects = types !== undefined || actors !== undefined
    const selection = selects ? { selection: { types, actors } } : {}
    if (after !== undefined && tail !== undefined)
      throw new TypeError('after and tail cannot be combined: pass one of them')
    if (after === 'end' || tail !== undefined)
      return { run: this.id, cursor: -1, start: { tail: checkedTail(tail ?? 0) }, ...selection }
    return { run: this.id, cursor: after === undefined ? this.#from[kind] : checkCursor(after), ...selection }
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
    // Tabs share only streams without options.
    const isShared = position.start === undefined && position.selection === undefined
    const chosen: Follow = isShared ? this.#follow : (from, given) => follow(this.#transport, from, given)
    try {
      for await (const event of chosen(position, { ...options, ...changed })) {
        this.#furthest = Math.max(this.#furthest, event.index)
        yield event
      }
    } finally {
      this.#from[kind] = position.cursor
    }
  }

  /** Sends a request about this run. Default: a GET that returns the run. */
  #request<Body>(rest: string, request: Partial<Request>, { signal }: RequestOptions = {}): Promise<Body> {
    const path = `/runs/${encodeURIComponent(this.id)}${rest}`
    return this.#transport.json<Body>({ path, run: this.id, signal, validate: this.#isThis, ...request })
  }
}

async function* textIn(
  events: AsyncIterable<LoggedEvent>,
  text: RunText,
  onRetracted: TextOptions['onRetracted'],
): AsyncGenerator<string> {
  for await (const event of events) {
    const change = text.apply(event)
    if (change === 'retracted') onRetracted?.(text.value)
    else if (change !== undefined) yield change.added
  }
}

function checkCursor(after: number): number {
  if (Number.isInteger(after) && after >= -1) return after
  throw new RangeError(`after is ${after}, but must be the index of an event, or -1 for the beginning`)
}

function checkedTail(tail: number): number {
  if (Number.isInteger(tail) && tail >= 0) return tail
  throw new RangeError(`tail is ${tail}, but must be a number of events`)
}

function failureOf({ id, status, error, reason }: RunInfo): RunError {
  if (status === 'failed' && error !== undefined) {
    const { code, message, retryable = false, details } = error
    return new RunError('failed', message, { code, retryable, details, run: id })
  }
  const outcome = status === 'rejected' ? 'rejected' : 'cancelled'
  return new RunError(outcome, reason ?? `run ${id} was ${outcome}`, { code: outcome, retryable: false, run: id })
}
