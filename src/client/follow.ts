/** Follows a run's log from a cursor to its end, over any number of connections: each event exactly once, in order. */
import type { LoggedEvent } from '../core/model/event.ts'
import { isTerminalEvent } from '../core/structure/run-status.ts'
import type { SavedStructure } from '../core/structure/saved-structure.ts'
import type { ParsedEvent } from '../sse/parse.ts'
import type { OnProblem } from './backoff.ts'
import { Connection } from './connection.ts'
import { ClientError, ConnectionError, GapError, LogChangedError } from './errors.ts'
import { isTransient, type Transport } from './transport.ts'

/** Called instead of throwing when events were trimmed. The stream continues at `earliest`. */
export type OnGap = (gap: { readonly run: string; readonly earliest: number }) => void

/** Called instead of throwing when the log was replaced. Its events follow from the beginning. */
export type OnLogChanged = (change: { readonly run: string }) => void

export interface FollowOptions {
  readonly signal?: AbortSignal | undefined
  readonly onGap?: OnGap | undefined
  readonly onLogChanged?: OnLogChanged | undefined
  /** Called with the state that later events continue, if the position starts with a snapshot. */
  readonly onSnapshot?: ((snapshot: SnapshotFrame) => void) | undefined
  /** Called on any data, including heartbeats. */
  readonly onActivity?: (() => void) | undefined
  /** Called when the connection failed and will be retried, and with `undefined` when it has recovered. */
  readonly onProblem?: OnProblem | undefined
}

/** A reader's cursor: the index of the last event it has, -1 before the first. */
export interface Position {
  readonly run: string
  cursor: number
  /** The frame of that event, if there was one. Its checksum tells the server which log the cursor belongs to. */
  frame?: ParsedEvent
  /** The cursor with a checksum, if a frame without an event moved it there. */
  moved?: string
  /** Used instead of the cursor until the server has sent it. */
  start?: RelativeStart | undefined
  readonly selection?: EventSelection
}

/** The run's structure at an index of its log. */
export interface SnapshotFrame {
  readonly cursor: number
  /** Index of the earliest event, if the log was trimmed: the structure has nothing of those before it. */
  readonly earliest?: number
  readonly structure: SavedStructure
}

/** Events that are delivered; the terminal event and retractions always are. */
export interface EventSelection {
  readonly types?: readonly string[] | undefined
  readonly actors?: readonly string[] | undefined
}

/** A start that only the server can resolve: with a snapshot, or with the last events. */
export type RelativeStart = 'snapshot' | { readonly tail: number }

export type Follow = (position: Position, options: FollowOptions) => AsyncGenerator<LoggedEvent>

export interface Page {
  readonly events: readonly LoggedEvent[]
  readonly cursor: number
  readonly done: boolean
  readonly earliest?: number
  readonly snapshot?: SnapshotFrame
}

export async function* follow(
  transport: Transport,
  position: Position,
  options: FollowOptions,
): AsyncGenerator<LoggedEvent> {
  const backoff = transport.newBackoff(options.onProblem)
  let by: 'stream' | 'page' = 'stream'
  for (;;) {
    const connection = new Connection(transport, position, options, backoff)
    try {
      for await (const event of by === 'stream' ? connection.stream() : connection.page()) {
        backoff.progress()
        yield event
        if (isTerminalEvent(event)) return
      }
      if (connection.done) return
      if (by === 'page') continue
      throw new ConnectionError(`run ${position.run}: the stream ended before the run did`, { run: position.run })
    } catch (cause) {
      if (mayContinue(cause, position, options)) continue
      if (!(cause instanceof ClientError) || !(isTransient(cause) || connection.shouldReconnect)) throw cause
      // A stream that fell silent was half-open, or a proxy buffers its data, heartbeats included. If a page has events that
      // the stream did not deliver, switch to pages.
      const hasNewEvents = connection.silent ? await connection.hasNewEvents() : undefined
      if (hasNewEvents === true) by = 'page'
      if (hasNewEvents !== undefined || connection.wasSteady) backoff.progress()
      if (hasNewEvents === undefined) await backoff.pause(cause, options.signal)
    }
  }
}

/** Whether the caller handles a gap or a replaced log, so that the stream continues from there. */
export function mayContinue(cause: unknown, position: Position, options: FollowOptions): boolean {
  const { onGap, onLogChanged, onSnapshot } = options
  const { run } = position
  if (onSnapshot !== undefined && (cause instanceof GapError || cause instanceof LogChangedError)) {
    position.start = 'snapshot'
    position.cursor = -1
    return true
  }
  if (cause instanceof GapError && onGap !== undefined) {
    onGap({ run, earliest: cause.earliest })
    position.cursor = cause.earliest - 1
    position.start = undefined
    return true
  }
  if (cause instanceof LogChangedError && onLogChanged !== undefined) {
    onLogChanged({ run })
    position.cursor = -1
    return true
  }
  return false
}
