/** What the server tells about components and runs, typed as the native protocol writes it. */
import type { BusyPolicy, ComponentKind, Recovery } from '../core/ports/component.ts'
import type { Run, RunStatus } from '../core/model/run.ts'

export interface ComponentInfo {
  readonly id: string
  readonly kind: ComponentKind
  readonly name?: string
  readonly description?: string
  readonly version?: string
  /** JSON schema of its input, where it says so. */
  readonly inputSchema?: Readonly<Record<string, unknown>>
  readonly recovery: Recovery
  readonly session: BusyPolicy
}

export interface RunInfo extends Omit<Run, 'owner' | 'lane' | 'wakeAt'> {
  /** Events written so far. */
  readonly events: number
  /** Index of the earliest event that is still kept. */
  readonly earliest: number
  readonly stopRequested?: boolean
  /** Events of it are lost: its log cannot be read, and it goes no further. */
  readonly damaged?: boolean
  /** What a completed run returned; only where one run is asked for. */
  readonly output?: unknown
  /** What the share link allows that the client uses. */
  readonly shared?: { readonly can: readonly ShareAction[]; readonly expiresAt: string }
}

export type ShareAction = 'read' | 'answer' | 'stop'

export interface ShareOptions extends Abortable {
  /** What the link allows. Default: read alone; the others need read too. */
  readonly can?: readonly ShareAction[]
  /** Milliseconds. Default: one day; at most 365 days. */
  readonly expiresIn?: number
}

export interface ShareInfo {
  readonly id: string
  readonly run: string
  readonly can: readonly ShareAction[]
  readonly createdAt: string
  readonly expiresAt: string
}

export interface ShareLink extends ShareInfo {
  /** For `new EventSource(url)`, for `client.runs.open(url)`, and for the address bar of a browser, which shows the console. A secret. */
  readonly url: string
}

export interface RunPage {
  /** Newest first. */
  readonly runs: readonly RunInfo[]
  /** Of the next page, where there is one. */
  readonly cursor?: string
  /** Runs that belong on the page and that the server cannot read now. */
  readonly unreadable?: number
}

export interface SessionInfo {
  readonly id: string
  /** Its id where nobody has named it. */
  readonly name: string
  readonly component?: string
  readonly createdAt: string
  readonly updatedAt: string
}

export interface SessionPage {
  /** Newest first. */
  readonly sessions: readonly SessionInfo[]
  /** How many there are, on this page or not. */
  readonly total: number
}

export interface SessionFilter {
  readonly component?: string
  /** A part of the name. */
  readonly name?: string
  /** From 1 on. */
  readonly page?: number
  readonly limit?: number
}

export interface StartRequest {
  readonly component: string
  /** A string or any JSON value. */
  readonly input: unknown
  /** Groups runs. Default: a new session. */
  readonly session?: string
  readonly metadata?: Readonly<Record<string, unknown>>
}

export interface RunFilter {
  readonly component?: string
  readonly session?: string
  readonly status?: RunStatus | readonly RunStatus[]
  /** That the component last had. */
  readonly version?: string
  readonly limit?: number
  /** Of the page before. */
  readonly cursor?: string
}

/** Answers to a paused run: by question id, or one for a run that asks one question. */
export type Answers = { readonly answers: Readonly<Record<string, unknown>> } | { readonly answer: unknown }

export interface Abortable {
  /** Ends the wait, and not the run. */
  readonly signal?: AbortSignal | undefined
}
