/** State of the AG-UI view. Immutable: all checkpoints share pieces and maps. */
import type { Question } from '../../../core/model/event.ts'
import type { TextPieces } from '../../../core/structure/text-pieces.ts'
import type { AgUiEvent, TokenUsage } from '../wire/events.ts'

/** A part of a message that is not retracted, or a state. */
export type Piece =
  | { readonly kind: 'text' | 'reasoning'; readonly id: string; readonly text: string; readonly subagent?: string }
  | {
      readonly kind: 'call'
      readonly id: string
      readonly name: string
      /** Arguments delta. */
      readonly text: string
      /** Full arguments that replace the drafted ones. */
      readonly replaces?: boolean
      readonly subagent?: string
    }
  | {
      readonly kind: 'result'
      readonly id: string
      readonly call: string
      readonly content: string
      readonly subagent?: string
    }
  | { readonly kind: 'state'; readonly state: unknown }
  /** A component was called. */
  | { readonly kind: 'agent'; readonly id: string }

/** A linked list, newest first, so that an event costs the same however many there are. Consecutive pieces of one text share a node. */
export interface PieceNode {
  readonly previous: PieceNode | undefined
  /** Without its text if `texts` is set. */
  readonly piece: Piece
  readonly texts: TextPieces | undefined
  /** Index of its first event. */
  readonly log: number
  /** Key of the actor. */
  readonly actor: string
  /** Whether it belongs to recorded work. */
  readonly recorded: boolean
}

/** A text or reasoning message that an actor continues. */
export interface OpenText {
  readonly actor: string
  readonly kind: 'text' | 'reasoning'
  readonly id: string
  readonly message: string | undefined
  /** Index of the event that began it. */
  readonly log: number
}

/** A tool call without a result. */
export interface OpenCall {
  readonly name: string
  readonly actor: string
  /** Whether its arguments are still being streamed. */
  readonly isDrafted: boolean
  /** Its result was shown when the client sent it; the log may repeat it. */
  readonly isAnswered?: boolean
  /** The arguments that were sent. */
  readonly args: string
  readonly log: number
  readonly recorded: boolean
}

export interface OpenStep {
  readonly name: string
  readonly actor: string
  readonly log: number
  readonly recorded: boolean
}

/** A called component that has not ended. */
export interface OpenAgent {
  /** Key of the actor, which is the id of the subagent. */
  readonly id: string
  readonly component: string
  /** Key of the actor that called it. */
  readonly parent: string
}

export interface AgentState {
  readonly run: string
  readonly thread: string
  /** The id that the client gave to the run. */
  readonly runId: string
  /** Number of answers so far. Each starts a new AG-UI run. */
  readonly leg: number
  readonly pieces: PieceNode | undefined
  /** By actor. */
  readonly texts: ReadonlyMap<string, OpenText>
  readonly calls: ReadonlyMap<string, OpenCall>
  /** By actor and step. */
  readonly steps: ReadonlyMap<string, OpenStep>
  /** By actor. */
  readonly agents: ReadonlyMap<string, OpenAgent>
  /** Subagents that ended and were retracted: AG-UI does not allow them to start again in the same run. */
  readonly spent: ReadonlySet<string>
  /** Whether the component's own text is not retracted. */
  readonly hasText: boolean
  readonly state: unknown
  /** By model. */
  readonly usage: ReadonlyMap<string, TokenUsage>
  readonly waiting: readonly Question[]
  /** Ids of answered questions. */
  readonly answered: ReadonlySet<string>
  /** Terminal event of the current AG-UI run; cleared when new output arrives. */
  readonly end: AgUiEvent | undefined
  /** Number of the next frame. */
  readonly position: number
}

export interface AgentFrame {
  readonly position: number
  readonly event: AgUiEvent
  readonly leg: number
  /** A stream may end here. */
  readonly ends?: true
}
