/** Projects a log to a tool call: progress, questions, and the result. */
import type { ViewKind } from '../../../core/delivery/view-cache.ts'
import type { LoggedEvent, Question } from '../../../core/model/event.ts'
import type { Run } from '../../../core/model/run.ts'
import { actorKey } from '../../../core/structure/actors.ts'
import { retractedFrom } from '../../../core/structure/retraction.ts'
import { addPiece, lengthOf, retractPieces, type TextPieces } from '../../../core/structure/text-pieces.ts'
import { addChunk, type ArtifactChunks, retractChunks } from './artifacts.ts'
import { resultOf, type ToolResult } from './result.ts'

export interface CallState {
  readonly run: Pick<Run, 'id' | 'session'>
  /** Number of the next frame. */
  readonly position: number
  /** Number of answered pauses. */
  readonly leg: number
  readonly text: TextPieces | undefined
  readonly artifacts: ArtifactChunks | undefined
  readonly waiting: readonly Question[]
  /** Earlier events were trimmed; undefined before the first event. */
  readonly isTrimmed: boolean | undefined
  readonly result: ToolResult | undefined
}

export type CallFrame = { readonly position: number; readonly leg: number } & (
  | { readonly kind: 'progress'; readonly type: string; readonly message: string }
  | { readonly kind: 'questions'; readonly questions: readonly Question[] }
  | { readonly kind: 'result'; readonly result: ToolResult }
)

type FrameContent =
  | { readonly kind: 'progress'; readonly message: string }
  | { readonly kind: 'questions'; readonly questions: readonly Question[] }
  | { readonly kind: 'result'; readonly result: ToolResult }

export const callKind: ViewKind<CallState, CallFrame> = {
  name: 'mcp call',
  projection: {
    initial: (run) => ({
      run: { id: run.id, session: run.session },
      position: 0,
      leg: 0,
      text: undefined,
      artifacts: undefined,
      waiting: [],
      isTrimmed: undefined,
      result: undefined,
    }),
    apply(before, event) {
      const begun = before.isTrimmed === undefined ? { ...before, isTrimmed: event.index > 0 } : before
      const state = stateAfter(begun, event)
      const content = contentOf(state, before, event)
      if (content === undefined) return { state, frames: [] }
      const { position, leg } = state
      const frame: CallFrame =
        content.kind === 'progress' ? { ...content, type: event.type, position, leg } : { ...content, position, leg }
      return { state: { ...state, position: position + 1 }, frames: [frame] }
    },
  },
  position: ({ position }) => position,
  mayEnd: ({ kind }) => kind !== 'progress',
}

function stateAfter(state: CallState, event: LoggedEvent): CallState {
  switch (event.type) {
    case 'text.delta':
      if (event.actor !== undefined) return state
      return { ...state, text: addPiece(state.text, event.index, event.data.text) }
    case 'artifact.added':
      return { ...state, artifacts: addChunk(state.artifacts, event) }
    case 'attempt.discarded':
      return {
        ...state,
        text: retractPieces(state.text, retractedFrom(event, actorKey(undefined))),
        artifacts: retractChunks(state.artifacts, event),
      }
    case 'run.paused':
      return { ...state, waiting: event.data.questions }
    case 'run.resumed':
      return { ...state, waiting: [], leg: state.leg + 1 }
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled':
    case 'run.rejected':
      return { ...state, waiting: [], result: resultOf(state, event) }
    default:
      return state
  }
}

function contentOf(state: CallState, before: CallState, event: LoggedEvent): FrameContent | undefined {
  if (state.result !== undefined) return { kind: 'result', result: state.result }
  if (event.type === 'run.paused') return { kind: 'questions', questions: event.data.questions }
  const message = messageOf(event, before, state)
  return message === undefined ? undefined : { kind: 'progress', message }
}

/** Progress message for the user. */
function messageOf(event: LoggedEvent, before: CallState, after: CallState): string | undefined {
  switch (event.type) {
    case 'run.started':
      return event.data.attempt === 1 ? 'started' : `started again, attempt ${event.data.attempt}`
    case 'text.delta':
      return event.actor === undefined ? event.data.text : undefined
    case 'tool.called':
      return `calls ${event.data.name}`
    case 'tool.failed':
      return `${event.data.name} failed: ${event.data.error.message}`
    case 'step.started':
      return `step ${event.data.name}`
    case 'actor.started':
      return `calls ${event.actor?.component ?? 'a component'}`
    case 'attempt.discarded':
      return lengthOf(after.text) < lengthOf(before.text) ? 'retracts its text and tries again' : undefined
    default:
      return undefined
  }
}
