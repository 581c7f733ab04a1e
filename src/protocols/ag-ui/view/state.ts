/** What the AG-UI view knows of a run. Immutable: pieces and maps are shared by all checkpoints. */
import type { Question } from '../../../core/model/event.ts'
import type { TextPieces } from '../../../core/structure/text-pieces.ts'
import type { AgUiEvent, TokenUsage } from '../wire/events.ts'

/** A part of a message that stands, or a state. */
export type Piece =
  | { readonly kind: 'text' | 'reasoning'; readonly id: string; readonly text: string; readonly subagent?: string }
  | {
      readonly kind: 'call'
      readonly id: string
      readonly name: string
      /** What it adds to the arguments. */
      readonly text: string
      /** Instead of what was drafted before. */
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

/** Newest first: an event costs the same however many there are. Pieces of one text that follow each other are one node. */
export interface PieceNode {
  readonly previous: PieceNode | undefined
  /** Without its text if there is `texts`. */
  readonly piece: Piece
  readonly texts: TextPieces | undefined
  /** Index of its first event. */
  readonly log: number
  /** Key of the actor. */
  readonly actor: string
  /** It is about recorded work. */
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
  /** Its arguments are still being sent. */
  readonly isDrafted: boolean
  /** Its result was shown when the client gave it; the log may repeat it. */
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
  /** What the client that started the run calls it. */
  readonly runId: string
  /** Answers so far: each begins a run of this protocol. */
  readonly leg: number
  readonly pieces: PieceNode | undefined
  /** By actor. */
  readonly texts: ReadonlyMap<string, OpenText>
  readonly calls: ReadonlyMap<string, OpenCall>
  /** By actor and step. */
  readonly steps: ReadonlyMap<string, OpenStep>
  /** By actor. */
  readonly agents: ReadonlyMap<string, OpenAgent>
  /** Subagents that ended and were retracted: this protocol does not let them begin again in the same run. */
  readonly spent: ReadonlySet<string>
  /** The component's own text stands. */
  readonly hasText: boolean
  readonly state: unknown
  /** By model. */
  readonly usage: ReadonlyMap<string, TokenUsage>
  readonly waiting: readonly Question[]
  /** Questions that were answered. */
  readonly answered: ReadonlySet<string>
  /** What ended the current run of this protocol, until something follows. */
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
