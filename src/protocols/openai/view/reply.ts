/**
 * Folds a log into pieces, the common basis of chat completions and responses. For a run that waits for its caller's tools, it yields
 * one part (ids.ts).
 *
 * Sent text cannot be unsent. When the agent retracts text, its new text is compared with the sent text: identical text is not sent
 * again; at the first difference the stream ends with an error, and the run continues.
 */
import type { LoggedEvent, Question, Usage } from '../../../core/model/event.ts'
import type { Run } from '../../../core/model/run.ts'
import type { TextStretch } from '../../../core/ports/projection.ts'
import { actorKey } from '../../../core/structure/actors.ts'
import { type DiscardedAttempt, retractedFrom } from '../../../core/structure/retraction.ts'
import {
  addPiece,
  addPieces,
  lengthOf,
  retractPieces,
  textFrom,
  type TextPieces,
} from '../../../core/structure/text-pieces.ts'
import { endErrorOf, type EndError } from '../wire/errors.ts'
import { type Part, toCallId } from '../wire/ids.ts'

export type Piece =
  /** Start of the part; `created` in seconds since 1970. */
  | { readonly type: 'created'; readonly created: number }
  | { readonly type: 'started' }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'text-end' }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'reasoning-end' }
  /** A server-side tool. */
  | { readonly type: 'tool'; readonly tool: ToolUse }
  | { readonly type: 'tool-end'; readonly tool: ToolUse; readonly result: ToolResult }
  /** Tool calls for the caller; ends the part. */
  | { readonly type: 'calls'; readonly calls: readonly CallerCall[]; readonly at: number }
  /** Questions to a person. */
  | { readonly type: 'waiting'; readonly questions: readonly Question[] }
  /** Sent text was retracted. Ends the stream; later pieces only count for the complete response. */
  | { readonly type: 'retracted' }
  | { readonly type: 'completed'; readonly finish: Finish; readonly at: number }
  | { readonly type: 'failed'; readonly status: 'failed' | 'cancelled'; readonly endError: EndError }

export type Finish = 'stop' | 'length' | 'content_filter'

export interface ToolUse {
  readonly call: string
  readonly name: string
  readonly input: unknown
}

export type ToolResult = { readonly output: unknown } | { readonly error: string }

export interface CallerCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export interface Reply {
  readonly part: Part
  /** Current part number of the log. */
  readonly current: number
  /** The run waits for its caller's tools. */
  readonly isAwaitingTools: boolean
  /** The part has ended. */
  readonly isEnded: boolean
  /** The sent text is not a prefix of the current text. */
  readonly diverged: boolean
  /** Text of the part, without retracted text. */
  readonly textPieces: TextPieces | undefined
  /** Sent text. The same object as `textPieces` while both are the same text, unless they diverged before. */
  readonly sent: TextPieces | undefined
  /** Sent text that was retracted and not emitted again. */
  readonly unconfirmedText: string
  readonly usage: Usage | undefined
  readonly finish: string | undefined
  /** Calls without a result, by id. */
  readonly calls: ReadonlyMap<string, ToolUse & { readonly isAnnounced: boolean }>
}

export interface ReplyUpdate {
  readonly reply: Reply
  readonly pieces: readonly Piece[]
}

export function beginReply(run: Run, number: number): Reply {
  return {
    part: { run: run.id, number },
    current: 0,
    isAwaitingTools: false,
    isEnded: false,
    diverged: false,
    textPieces: undefined,
    sent: undefined,
    unconfirmedText: '',
    usage: undefined,
    finish: undefined,
    calls: new Map(),
  }
}

const NOTHING: readonly Piece[] = []

export function applyEvent(reply: Reply, event: LoggedEvent): ReplyUpdate {
  if (reply.isEnded) return { reply, pieces: NOTHING }
  const update = next(reply, event)
  if (reply.current !== reply.part.number && update.reply.current !== reply.part.number)
    return { reply: update.reply, pieces: NOTHING }
  return update
}

function next(reply: Reply, event: LoggedEvent): ReplyUpdate {
  switch (event.type) {
    case 'run.created':
      return { reply, pieces: [createdPiece(event)] }
    case 'run.started':
      return { reply, pieces: [{ type: 'started' }] }
    case 'text.delta':
      return event.actor === undefined ? addText(reply, event.data.text, event.index) : { reply, pieces: NOTHING }
    case 'text.completed':
      return { reply, pieces: event.actor === undefined && !isBehind(reply) ? [{ type: 'text-end' }] : NOTHING }
    case 'reasoning.delta':
      return { reply, pieces: event.actor === undefined ? [{ type: 'reasoning', text: event.data.text }] : NOTHING }
    case 'reasoning.completed':
      return { reply, pieces: event.actor === undefined ? [{ type: 'reasoning-end' }] : NOTHING }
    case 'tool.called':
    case 'tool.completed':
    case 'tool.failed':
      return useTool(reply, event)
    case 'model.responded':
      return { reply: countModel(reply, event), pieces: NOTHING }
    case 'attempt.discarded':
      return { reply: retract(reply, event), pieces: NOTHING }
    case 'run.paused':
      return pause(reply, event)
    case 'run.resumed':
      return resume(reply, event)
    case 'run.completed':
      return complete(reply, event)
    case 'run.failed':
    case 'run.cancelled':
    case 'run.rejected':
      return fail(reply, event)
    default:
      return { reply, pieces: NOTHING }
  }
}

function createdPiece({ time }: LoggedEvent): Piece {
  return { type: 'created', created: seconds(time) }
}

function seconds(time: string): number {
  return Math.floor(Date.parse(time) / 1000)
}

function isBehind({ textPieces, sent }: Reply): boolean {
  return lengthOf(textPieces) < lengthOf(sent)
}

/** Whether exactly the current text was sent. */
export function isAllSent({ textPieces, sent }: Reply): boolean {
  return textPieces === sent || (lengthOf(textPieces) === lengthOf(sent) && textFrom(textPieces) === textFrom(sent))
}

function addText(reply: Reply, delta: string, index: number): ReplyUpdate {
  const { unconfirmedText, diverged } = reply
  const textPieces = addPiece(reply.textPieces, index, delta)
  if (diverged) return { reply: { ...reply, textPieces }, pieces: NOTHING }
  if (!delta.startsWith(unconfirmedText.slice(0, delta.length)))
    return { reply: { ...reply, textPieces, diverged: true }, pieces: [{ type: 'retracted' }] }
  const left = unconfirmedText.slice(delta.length)
  if (left !== '') return { reply: { ...reply, textPieces, unconfirmedText: left }, pieces: NOTHING }
  const rest = delta.slice(unconfirmedText.length)
  return {
    reply: { ...reply, textPieces, sent: textPieces, unconfirmedText: left },
    pieces: rest === '' ? NOTHING : [{ type: 'text', text: rest }],
  }
}

/** Applies texts that are all sent; undefined if some may not be. */
export function applyTexts(reply: Reply, { first, texts }: TextStretch): Reply | undefined {
  const { isEnded, diverged, unconfirmedText, current, part, textPieces: before, sent } = reply
  if (isEnded || diverged || unconfirmedText !== '' || current !== part.number || before !== sent) return undefined
  const textPieces = addPieces(before, first, texts)
  return { ...reply, textPieces, sent: textPieces }
}

/** Retracts the run's own text; that of other actors is not part of the response. */
function retract(reply: Reply, event: DiscardedAttempt): Reply {
  const textPieces = retractPieces(reply.textPieces, retractedFrom(event, actorKey(undefined)))
  return { ...reply, textPieces, unconfirmedText: textFrom(reply.sent, lengthOf(textPieces)) }
}

/**
 * A call with a ledger key is executed on the server. Without one, this is known only when it has a result, since it may be the
 * caller's.
 */
function useTool(
  reply: Reply,
  event: Extract<LoggedEvent, { type: 'tool.called' | 'tool.completed' | 'tool.failed' }>,
): ReplyUpdate {
  const { call, name } = event.data
  const calls = new Map(reply.calls)
  if (event.type === 'tool.called') {
    const tool = { call, name, input: event.data.input }
    const isAnnounced = event.data.key !== undefined
    calls.set(call, { ...tool, isAnnounced })
    return { reply: { ...reply, calls }, pieces: isAnnounced ? [{ type: 'tool', tool }] : NOTHING }
  }
  const known = calls.get(call)
  if (known === undefined) return { reply, pieces: NOTHING }
  calls.delete(call)
  const { isAnnounced, ...tool } = known
  const result = event.type === 'tool.completed' ? { output: event.data.output } : { error: event.data.error.message }
  const end: Piece = { type: 'tool-end', tool, result }
  return { reply: { ...reply, calls }, pieces: isAnnounced ? [end] : [{ type: 'tool', tool }, end] }
}

function countModel(reply: Reply, event: Extract<LoggedEvent, { type: 'model.responded' }>): Reply {
  const { usage, finish } = event.data
  return {
    ...reply,
    ...(usage !== undefined && { usage: addUsage(reply.usage, usage) }),
    ...(event.actor === undefined && { finish }),
  }
}

function addUsage(sum: Usage | undefined, usage: Usage): Usage {
  const total: Record<string, number> = { ...sum }
  for (const [name, count] of Object.entries(usage)) total[name] = (total[name] ?? 0) + Number(count)
  return total
}

/** Ends the part if all questions are for results of the caller's tools. */
function pause(reply: Reply, { data, time }: Extract<LoggedEvent, { type: 'run.paused' }>): ReplyUpdate {
  if (reply.isAwaitingTools) return { reply, pieces: NOTHING }
  const asked = data.questions.map((question) => callerCall(reply.part.run, question))
  const calls = asked.filter((call) => call !== undefined)
  if (calls.length < asked.length) return { reply, pieces: [{ type: 'waiting', questions: data.questions }] }
  const isEnded = reply.current === reply.part.number
  const others = new Map([...reply.calls].filter(([, { isAnnounced }]) => isAnnounced))
  return {
    reply: { ...reply, calls: others, isAwaitingTools: true, isEnded },
    pieces: isEnded ? endOf(reply, { type: 'calls', calls, at: seconds(time) }) : NOTHING,
  }
}

/** Results of the caller's tools start the next part; other answers belong to the current one. */
function resume(reply: Reply, { time }: LoggedEvent): ReplyUpdate {
  if (!reply.isAwaitingTools) return { reply, pieces: NOTHING }
  const fresh = {
    textPieces: undefined,
    sent: undefined,
    unconfirmedText: '',
    usage: undefined,
    finish: undefined,
    diverged: false,
  }
  return {
    reply: { ...reply, ...fresh, isAwaitingTools: false, current: reply.current + 1 },
    pieces: [{ type: 'created', created: seconds(time) }, { type: 'started' }],
  }
}

/** Undefined if the question is not a call of a caller's tool. */
export function callerCall(run: string, { id, kind, details }: Question): CallerCall | undefined {
  if (kind !== 'tool') return undefined
  const { tool, input, call } = (details ?? {}) as { tool?: unknown; input?: unknown; call?: unknown }
  if (typeof tool !== 'string') return undefined
  return {
    id: toCallId(run, typeof call === 'string' ? call : id),
    name: tool,
    arguments: JSON.stringify(input ?? {}),
  }
}

function complete(reply: Reply, event: Extract<LoggedEvent, { type: 'run.completed' }>): ReplyUpdate {
  const { output } = event.data
  const usage = reply.usage ?? (reply.current === 0 ? event.data.usage : undefined)
  // An output that was not streamed becomes the text.
  const update =
    lengthOf(reply.textPieces) === 0 && output !== undefined
      ? addText(reply, outputText(output), event.index)
      : undefined
  const ended: Reply = { ...(update?.reply ?? reply), usage, isEnded: true }
  const end: Piece = { type: 'completed', finish: finishOf(reply.finish), at: seconds(event.time) }
  return { reply: ended, pieces: [...(update?.pieces ?? NOTHING), ...endOf(ended, end)] }
}

/** If sent text is missing in the final text, the stream must not end successfully. */
function endOf(reply: Reply, end: Piece): readonly Piece[] {
  return isBehind(reply) && !reply.diverged ? [{ type: 'retracted' }, end] : [end]
}

function outputText(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}

function finishOf(finish: string | undefined): Finish {
  if (finish === 'length') return 'length'
  return finish === 'content-filter' ? 'content_filter' : 'stop'
}

function fail(
  reply: Reply,
  event: Extract<LoggedEvent, { type: `run.${'failed' | 'cancelled' | 'rejected'}` }>,
): ReplyUpdate {
  const usage = reply.usage ?? (event.type === 'run.failed' && reply.current === 0 ? event.data.usage : undefined)
  const status = event.type === 'run.cancelled' ? 'cancelled' : 'failed'
  return {
    reply: { ...reply, usage, isEnded: true },
    pieces: [{ type: 'failed', status, endError: endErrorOf(event)! }],
  }
}
