/** A run's state at an index of its log, and the events after it. */
import type { LoggedEvent } from '../core/model/event.ts'
import type { SavedStructure } from '../core/structure/saved-structure.ts'
import type { OnProblem } from './backoff.ts'
import { follow, type Position, type SnapshotFrame } from './follow.ts'
import type { Transport } from './transport.ts'
import type { RequestOptions } from './types.ts'

/** Options of `run.snapshot`. */
export interface SnapshotOptions extends RequestOptions {
  /**
   * Called with a new state if the events after the previous one no longer exist: they were trimmed, or the log was replaced. Later
   * events continue the new state. Default: ignored.
   */
  readonly onReplaced?: (snapshot: SnapshotFrame) => void
  /** Called when the connection failed and will be retried, and with `undefined` when it has recovered. Default: only `onProblem` of the client is called. */
  readonly onProblem?: OnProblem
}

/** Iterate it for the events after the snapshot, to the end of the run. It can be read once. */
export class RunSnapshot implements AsyncIterable<LoggedEvent> {
  /** For `RunStructure.restore` of `holdfast/structure`. */
  readonly structure: SavedStructure
  /** Index of the earliest event, if the log was trimmed: the structure has nothing of those before it. */
  readonly earliest: number | undefined
  readonly #position: Position
  readonly #events: () => AsyncGenerator<LoggedEvent>
  readonly #closing: AbortController
  #taken = false

  private constructor(
    { structure, earliest }: SnapshotFrame,
    position: Position,
    events: () => AsyncGenerator<LoggedEvent>,
    closing: AbortController,
  ) {
    this.structure = structure
    this.earliest = earliest
    this.#position = position
    this.#events = events
    this.#closing = closing
  }

  /** Requests the snapshot and what follows it in one response. */
  static async open(transport: Transport, run: string, options: SnapshotOptions): Promise<RunSnapshot> {
    const { onReplaced, onProblem, signal } = options
    const closing = new AbortController()
    const position: Position = { run, cursor: -1, start: 'snapshot' }
    const arrived = Promise.withResolvers<SnapshotFrame>()
    let isFirst = true
    const events = follow(transport, position, {
      signal: signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]),
      onProblem,
      onSnapshot(frame) {
        if (isFirst) arrived.resolve(frame)
        else onReplaced?.(frame)
        isFirst = false
      },
    })
    // Starts the request; the loop gets the buffered event.
    const next = events.next()
    next.then(() => arrived.reject(noSnapshot(run)), arrived.reject)
    try {
      return new RunSnapshot(await arrived.promise, position, () => eventsFrom(next, events, closing), closing)
    } catch (cause) {
      closing.abort()
      throw cause
    }
  }

  /** Index of the last event that was delivered, or that the snapshot contains. */
  get cursor(): number {
    return this.#position.cursor
  }

  /** Ends the connection, for a caller that does not iterate. Does not stop the run. */
  close(): void {
    this.#closing.abort()
  }

  [Symbol.asyncIterator](): AsyncGenerator<LoggedEvent> {
    if (this.#taken) throw new TypeError('a snapshot can be read only once; continue with events({ after: cursor })')
    this.#taken = true
    return this.#events()
  }
}

async function* eventsFrom(
  first: Promise<IteratorResult<LoggedEvent, void>>,
  events: AsyncGenerator<LoggedEvent, void>,
  closing: AbortController,
): AsyncGenerator<LoggedEvent> {
  try {
    for (let next = await first; next.done !== true; next = await events.next()) yield next.value
  } finally {
    closing.abort()
  }
}

function noSnapshot(run: string): TypeError {
  return new TypeError(`run ${run}: the server sent no snapshot; it may be of an older version`)
}
