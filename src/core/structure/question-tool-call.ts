/** Maps questions to tool calls, for protocols that show questions as tool calls. */
import type { Actor, Question } from '../model/event.ts'

export interface QuestionToolCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
  /** The question refers to no logged call, so a call is made up for it. */
  readonly isSynthetic: boolean
}

/** Call ids are unique within an actor. */
export function toolCallId(run: string, actor: Actor | undefined, call: string): string {
  return actor === undefined ? call : `${actorName(run, actor)}:${call}`
}

/** An actor's name within its run. */
export function actorName(run: string, actor: Actor): string {
  return actor.run.startsWith(`${run}/`) ? actor.run.slice(run.length + 1) : actor.run
}

/** The call to approve or execute. Undefined for questions that are answered with text. */
export function questionToolCall(
  run: string,
  { id, kind, actor, prompt, details }: Question,
): QuestionToolCall | undefined {
  if (kind !== 'approval' && kind !== 'tool') return undefined
  const { tool, input, call, name } = (details ?? {}) as Record<string, unknown>
  if (typeof tool === 'string') {
    const isSynthetic = typeof call !== 'string'
    return {
      toolCallId: isSynthetic ? id : toolCallId(run, actor, call),
      toolName: tool,
      input: input ?? null,
      isSynthetic,
    }
  }
  if (kind === 'tool') return undefined
  const toolName = typeof name === 'string' ? name : 'approval'
  return { toolCallId: id, toolName, input: input ?? { prompt }, isSynthetic: true }
}

/** The decision in an answer to an approval, in any accepted form. */
export function decisionOf(answer: unknown): { readonly approved: boolean; readonly reason?: string } {
  const { approved, reason } = (typeof answer === 'object' && answer !== null ? answer : { approved: answer }) as {
    readonly approved?: unknown
    readonly reason?: unknown
  }
  return { approved: approved === true, ...(typeof reason === 'string' && reason !== '' && { reason }) }
}
