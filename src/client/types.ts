/** Components, runs and sessions as the native protocol describes them. */
import type { BusyPolicy, ComponentKind, RecoveryPolicy } from '../core/ports/component.ts'
import type { Run, RunStatus } from '../core/model/run.ts'

/** A component, as `components.list` shows it. */
export interface ComponentInfo {
  readonly id: string
  readonly kind: ComponentKind
  readonly name?: string
  readonly description?: string
  readonly version?: string
  /** JSON Schema of its input, if it has one. */
  readonly inputSchema?: Readonly<Record<string, unknown>>
  /** JSON Schema of its output, if it has one. */
  readonly outputSchema?: Readonly<Record<string, unknown>>
  readonly recovery: RecoveryPolicy
  readonly onBusySession: BusyPolicy
}

/** The state of a run. */
export interface RunInfo extends Omit<Run, 'owner' | 'lane' | 'wakeAt'> {
  /** Events written so far. */
  readonly events: number
  /** Index of the earliest event that was not trimmed. */
  readonly earliest: number
  readonly stopRequested?: boolean
  /** Its log is damaged: events are lost, and the run cannot continue. */
  readonly damaged?: boolean
  /** Output of a completed run; only if a single run was requested. */
  readonly output?: unknown
  /** The permissions of the share link that the client uses. */
  readonly shared?: { readonly can: readonly ShareAction[]; readonly expiresAt: string }
}

export type ShareAction = 'read' | 'answer' | 'stop'

/** Options of `run.share`. */
export interface ShareOptions extends RequestOptions {
  /** Permissions of the link. Default: `read`, which all others require. */
  readonly can?: readonly ShareAction[]
  /** Lifetime of the link. Default: one day; maximum: 365 days. */
  readonly expiresInMs?: number
}

/** A share link of a run, without its secret. */
export interface ShareInfo {
  readonly id: string
  readonly run: string
  readonly can: readonly ShareAction[]
  readonly createdAt: string
  readonly expiresAt: string
}

/** A new share link, with its secret URL. */
export interface ShareLink extends ShareInfo {
  /**
   * For `new EventSource(url)`, for `client.runs.open(url)`, and for a browser's address bar, which shows the console. A
   * secret.
   */
  readonly url: string
}

/** One page of runs. */
export interface RunPage {
  /** Newest first. */
  readonly runs: readonly RunInfo[]
  /** Cursor of the next page, if there is one. */
  readonly cursor?: string
  /** Runs of this page that the server cannot read now. */
  readonly unreadable?: number
}

/** The state of a session. */
export interface SessionInfo {
  readonly id: string
  /** Default: its id. */
  readonly name: string
  readonly component?: string
  readonly createdAt: string
  readonly updatedAt: string
}

/** One page of sessions. */
export interface SessionPage {
  /** Newest first. */
  readonly sessions: readonly SessionInfo[]
  /** Number of sessions that match, on all pages. */
  readonly total: number
  /** Cursor of the next page, if there is one. */
  readonly cursor?: string
}

/** Which sessions `sessions.list` returns. */
export interface SessionFilter {
  /** Default: all. */
  readonly component?: string
  /** Matches part of the name. Default: all. */
  readonly name?: string
  /** Sessions per page. Default: 50. */
  readonly limit?: number
  /** Cursor from the previous page. Default: the first page. */
  readonly cursor?: string
}

/** What to run. */
export interface StartRequest {
  readonly component: string
  /** A string or any JSON value. */
  readonly input: unknown
  /** Groups runs. Default: a new session. */
  readonly session?: string
  /** Stored with the run. Default: none. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** Which runs `runs.list` returns. */
export interface RunFilter {
  /** Default: all. */
  readonly component?: string
  /** Default: all. */
  readonly session?: string
  /** Default: all. */
  readonly status?: RunStatus | readonly RunStatus[]
  /** The component's version that last executed the run. Default: all. */
  readonly version?: string
  /** Runs per page. Default: 50. */
  readonly limit?: number
  /** Cursor from the previous page. Default: the first page. */
  readonly cursor?: string
}

/** Options of `run.links`. */
export interface LinksOptions extends RequestOptions {
  /** Protocol of the position. Default: the end of the log. */
  readonly protocol?: 'native' | 'agentos' | 'openai' | 'a2a' | 'ai-sdk' | 'ag-ui' | 'mcp'
  /** Number of the last event that you have in that protocol; -1 for none. Required with `protocol`. Default: the end of the log. */
  readonly position?: number
}

/** A run in every protocol, at one position. */
export interface RunLinks {
  readonly run: string
  /** Index of the last log event that you have completely. */
  readonly cursor: number
  /** False if you also have part of the next event, which another protocol repeats. */
  readonly exact: boolean
  readonly links: readonly RunLink[]
}

/** The names of a run and a position in one protocol. */
export interface RunLink {
  readonly protocol: string
  /** The protocol's ids of the run and its session. */
  readonly id: string
  readonly session: string
  /** Path of the run. */
  readonly url: string
  /** Number of the last event up to the cursor. Absent if the log was trimmed or is too large. */
  readonly position?: number
  /** The GET request that streams what follows the position. */
  readonly resume: { readonly url: string; readonly headers?: Readonly<Record<string, string>> }
}

/** Answers to a paused run: by question id, or a single one if there is one question. */
export type Answers = { readonly answers: Readonly<Record<string, unknown>> } | { readonly answer: unknown }

/** Options of every request. */
export interface RequestOptions {
  /** Aborts the wait, not the run. Default: none. */
  readonly signal?: AbortSignal | undefined
}
