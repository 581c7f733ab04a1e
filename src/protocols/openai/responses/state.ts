/** What is known of a response at a place in the log: pure data, of which the object and the events of the wire are made. */
import type { Question } from '../../../core/model/event.ts'
import type { Run } from '../../../core/model/run.ts'
import { type Reply, beginReply } from '../view/reply.ts'
import type { ErrorObject, Verdict } from '../wire/errors.ts'
import { type RunOrigin, aboutOf } from '../requests/start.ts'

export type Status = 'queued' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'incomplete'

export interface MessageItem {
  readonly type: 'message'
  readonly id: string
  readonly status: ItemStatus
  readonly role: 'assistant'
  readonly content: readonly object[]
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export type OutputItem =
  | MessageItem
  | { readonly type: 'reasoning'; readonly id: string; readonly summary: readonly object[] }
  | {
      readonly type: 'function_call'
      readonly id: string
      readonly call_id: string
      readonly name: string
      readonly arguments: string
      readonly status: ItemStatus
    }
  | {
      readonly type: 'mcp_call'
      readonly id: string
      readonly server_label: string
      readonly name: string
      readonly arguments: string
      readonly output: string | null
      readonly error: string | null
      readonly status: ItemStatus | 'failed'
    }

export interface ResponseState {
  readonly reply: Reply
  readonly model: string
  readonly session: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly about: RunOrigin | undefined
  /** Of `run.created`; for a later part the results that it began with. */
  readonly input: unknown
  /** What a pause asked for last. */
  readonly asked: readonly Question[]
  /** Seconds since 1970; undefined while the log has not come to this part. */
  readonly created: number | undefined
  readonly status: Status
  readonly completedAt: number | null
  readonly error: ErrorObject | undefined
  readonly verdict: Verdict | undefined
  readonly reason: 'max_output_tokens' | 'content_filter' | undefined
  readonly waiting: readonly Question[]
  readonly items: readonly OutputItem[]
  /** Of the message that is being said: its place in the output, and where in the text it begins. */
  readonly message: { readonly index: number; readonly start: number } | undefined
  readonly reasoning: { readonly index: number; readonly text: string } | undefined
  /** Places in the output of the tools that are being executed, by call. */
  readonly tools: ReadonlyMap<string, number>
  /** The number that the next event gets. */
  readonly sequence: number
  /** The stream has ended, though the run goes on. */
  readonly cut: boolean
}

export function beginResponse(run: Run, part: number): ResponseState {
  const { openai: _openai, ...metadata } = run.metadata ?? {}
  const about = aboutOf(run)
  return {
    reply: beginReply(run, part),
    model: run.component,
    session: run.session,
    metadata,
    about,
    input: undefined,
    asked: [],
    created: undefined,
    status: about?.background === true && part === 0 ? 'queued' : 'in_progress',
    completedAt: null,
    error: undefined,
    verdict: undefined,
    reason: undefined,
    waiting: [],
    items: [],
    message: undefined,
    reasoning: undefined,
    tools: new Map(),
    sequence: 0,
    cut: false,
  }
}

/** Whether there is nothing more to wait for. */
export function isEnded({ status }: ResponseState): boolean {
  return status !== 'queued' && status !== 'in_progress'
}
