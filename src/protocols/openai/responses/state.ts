/** State of a response at a log position: pure data from which the object and the events are built. */
import type { Question } from '../../../core/model/event.ts'
import { TemplateMemo } from '../../../core/model/json-template.ts'
import type { Run } from '../../../core/model/run.ts'
import { type Reply, beginReply } from '../view/reply.ts'
import type { ErrorObject, EndError } from '../wire/errors.ts'
import { type RequestOrigin, aboutOf } from '../requests/start.ts'
import { beginningRelay, type ResponseRelay } from './relay.ts'

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
      readonly type: 'function_call_output'
      readonly id: string
      readonly call_id: string
      readonly output: string
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
  readonly about: RequestOrigin | undefined
  /** From `run.created`; for later parts, the tool results that they started with. */
  readonly input: unknown
  /** Questions of the last pause. */
  readonly asked: readonly Question[]
  /** Seconds since 1970; undefined before this part starts. */
  readonly created: number | undefined
  readonly status: Status
  readonly completedAt: number | null
  readonly error: ErrorObject | undefined
  readonly endError: EndError | undefined
  readonly reason: 'max_output_tokens' | 'content_filter' | undefined
  readonly waiting: readonly Question[]
  readonly items: readonly OutputItem[]
  /** Of the deltas of texts. */
  readonly textTemplate: TemplateMemo
  /** The open message: its output index, and its offset in the text. */
  readonly message: { readonly index: number; readonly start: number } | undefined
  readonly reasoning: { readonly index: number; readonly text: string } | undefined
  /** Output indices of running tools, by call. */
  readonly tools: ReadonlyMap<string, number>
  /** Next sequence number. */
  readonly sequence: number
  /** The stream ended before the run. */
  readonly cut: boolean
  /** Set for responses of an upstream with the Responses API. */
  readonly relay: ResponseRelay | undefined
}

export function beginResponse(run: Run, part: number): ResponseState {
  const { openai: _openai, ...metadata } = run.metadata ?? {}
  const about = aboutOf(run)
  return {
    reply: beginReply(run, part),
    textTemplate: new TemplateMemo(),
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
    endError: undefined,
    reason: undefined,
    waiting: [],
    items: [],
    message: undefined,
    reasoning: undefined,
    tools: new Map(),
    sequence: 0,
    cut: false,
    relay: about?.forwarded === true && part === 0 ? beginningRelay : undefined,
  }
}

/** Whether the response is complete. */
export function isEnded({ status }: ResponseState): boolean {
  return status !== 'queued' && status !== 'in_progress'
}
