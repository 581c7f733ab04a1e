/** Converts A2A messages to component inputs, and run inputs back to messages. */
import type { Question } from '../../../core/model/event.ts'
import type { Run } from '../../../core/model/run.ts'
import { hintsOf } from '../view/states.ts'
import { partsOf } from '../../../a2a/parts.ts'
import type { Message, Part } from '../wire/wire.ts'

/** Run metadata of this protocol, under `a2a`. */
export interface TaskOrigin {
  /** The original message, without parts if the input contains them. */
  readonly message: Omit<Message, 'parts'> & { readonly parts?: readonly Part[] }
  readonly tenant?: string
  /** The component may respond with a message instead of a task. */
  readonly direct?: true
}

/** Undefined if another protocol started the run. */
export function aboutOf({ metadata }: Pick<Run, 'metadata'>): TaskOrigin | undefined {
  const about = metadata?.['a2a'] as TaskOrigin | undefined
  return about?.message?.messageId === undefined ? undefined : about
}

/** Messages up to this size are kept in full; larger ones only as far as the input represents them. */
const KEPT_CHARS_MAX = 16_384

export function toAbout(message: Message, tenant: string, mayBeDirect: boolean): TaskOrigin {
  const { parts, ...rest } = message
  const keepParts = !isPlainText(parts) && JSON.stringify(parts).length <= KEPT_CHARS_MAX
  return {
    message: keepParts ? message : rest,
    ...(tenant !== '' && { tenant }),
    ...(mayBeDirect && { direct: true as const }),
  }
}

function isPlainText(parts: readonly Part[]): boolean {
  const [only, another] = parts
  return another === undefined && only?.text !== undefined && Object.keys(only).length === 1
}

/** A component's input: a string, a string with files, or the value of a data part. */
export function inputOf(parts: readonly Part[]): unknown {
  const files = parts.flatMap(fileOf)
  const [only, another] = parts
  if (another === undefined && only !== undefined && 'data' in only) return only.data
  const text = parts.flatMap(textsOfPart).join('\n')
  return files.length === 0 ? text : { text, files }
}

/** The answer to a question: the message's content, shaped by the question's schema, or the whole message if requested. */
export function answerOf(question: Question, message: Message): unknown {
  if (hintsOf(question).answer === 'message') return message
  const value = inputOf(message.parts)
  if (typeof value !== 'string' || question.kind !== 'approval') return value
  if (/^\s*(?:yes|y|true|ok|approved?)\s*[.!]?\s*$/i.test(value)) return true
  if (/^\s*(?:no|n|false|denied|deny|rejected?)\s*[.!]?\s*$/i.test(value)) return false
  return value
}

function textsOfPart(part: Part): string[] {
  if (part.text !== undefined) return [part.text]
  return 'data' in part ? [JSON.stringify(part.data)] : []
}

function fileOf({ raw, url, mediaType = 'application/octet-stream', filename }: Part): object[] {
  if (raw === undefined && url === undefined) return []
  const source = raw === undefined ? { url } : { data: raw }
  return [{ mediaType, ...source, ...(filename !== undefined && { name: filename }) }]
}

/** The message that started a task. */
export function firstMessage(run: Run, input: unknown): Message {
  const kept = aboutOf(run)?.message
  const { parts = partsOf(input), ...rest } = kept ?? { messageId: `${run.id}-0`, role: 'ROLE_USER' as const }
  return { ...rest, parts, taskId: run.id, contextId: run.session }
}

/** A paused run's questions, as the status message. */
export function questionMessage(run: Run, questions: readonly Question[]): Message {
  const asked = questions.map(({ actor: _actor, ...question }) => question)
  const isPlain = asked.every(
    ({ kind, schema, details }) => kind === 'input' && schema === undefined && details === undefined,
  )
  return agentMessage(run, `${run.id}-${questions.map(({ id }) => id).join('-')}`, [
    ...questions.map(({ prompt }) => ({ text: prompt })),
    ...(isPlain ? [] : [{ data: { questions: asked } }]),
  ])
}

export function agentMessage(run: Run, messageId: string, parts: readonly Part[]): Message {
  return { messageId, taskId: run.id, contextId: run.session, role: 'ROLE_AGENT', parts }
}
