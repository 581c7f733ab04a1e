/** State of the projection: speakers, their content without retracted output, and steps. */
import type { Relay } from './relay.ts'
import type { ComponentKind } from '../../../core/ports/component.ts'
import type { Actor, Failure, Question, StepKind, Usage } from '../../../core/model/event.ts'
import type { RunStatus } from '../../../core/model/run.ts'
import type { TextPieces } from '../../../core/structure/text-pieces.ts'
import type { StepOutput } from '../wire/shapes.ts'
import type { Speakers } from './speakers.ts'
import type { PersistentList } from './persistent-list.ts'
import type { OwnTexts } from './text-frames.ts'

export interface State {
  readonly run: string
  /** `run_id` on the wire. */
  readonly shownId: string
  readonly session: string
  readonly status: RunStatus
  readonly createdAt: string
  readonly userId?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  /** False if the client asked for content events only. */
  readonly allEvents: boolean
  /** Set for runs of an AgentOS upstream. */
  readonly relay?: Relay
  /** `event_index` of the next frame. */
  readonly next: number
  /** Index of the last folded log event. */
  readonly last: number
  /** First log index, if the log was trimmed. */
  readonly trimmedBefore?: number
  /** By run id; the run's own component comes first. */
  readonly speakers: Speakers
  readonly ownTexts: OwnTexts
  /** Steps of workflows, by step id. */
  readonly steps: ReadonlyMap<string, Step>
  readonly questions: readonly Question[]
  /** Time of the questions. */
  readonly askedAt: string
  /** Log index at which it went on after its last question. */
  readonly resumedAt?: number
  readonly outcome?: SpeakerOutcome
}

export interface SpeakerOutcome {
  readonly output?: unknown
  readonly error?: Failure
  readonly reason?: string
}

/** A component in the run: its own, or a called one. */
export interface Speaker {
  readonly run: string
  readonly component: string
  readonly name: string
  readonly kind: ComponentKind
  /** Run id of its caller. */
  readonly parent?: string
  /** Nesting depth of workflows, from 0. */
  readonly depth: number
  /** Run id of its workflow. */
  readonly workflow?: string
  /** The step that it executes. */
  readonly step?: string
  readonly input: unknown
  readonly startedAt: string
  readonly status: RunStatus
  readonly texts: TextPieces | undefined
  readonly thought: TextPieces | undefined
  /** Whether reasoning is open. */
  readonly reasoning: boolean
  readonly calls: PersistentList<ToolCalled>
  readonly results: PersistentList<ToolEnded>
  readonly sources: PersistentList<Source>
  readonly media: PersistentList<Media>
  /** Results of the steps of a workflow. */
  readonly stepOutputs: PersistentList<StepOutput>
  readonly usage?: Usage
  readonly model?: { readonly model: string; readonly provider: string }
  readonly outcome?: SpeakerOutcome
}

export interface ToolCalled {
  readonly call: string
  readonly name: string
  readonly input: unknown
  readonly time: string
  /** It is recorded in the ledger, so retracting output does not undo it. */
  readonly recorded: boolean
}

export interface ToolEnded {
  readonly call: string
  readonly time: string
  readonly output?: unknown
  readonly error?: Failure
  readonly recorded: boolean
}

export interface Source {
  readonly url?: string
  readonly title?: string
}

export interface Media {
  readonly id: string
  readonly mime_type: string
  readonly url?: string
  readonly content?: unknown
  readonly filename?: string
}

export interface Step {
  readonly id: string
  readonly name: string
  readonly kind: StepKind
  /** Run id of its workflow. */
  readonly workflow: string
  readonly parent?: string
  readonly index: number | readonly number[]
  readonly details: Readonly<Record<string, unknown>>
  readonly open: boolean
  /** Run id of the component that executes it. */
  readonly executor?: string
  readonly results: PersistentList<StepOutput>
  readonly startIndex: number
}

/** The id that clients see: a client may have chosen the id of the run itself. */
export function shownIdOf({ run, shownId }: State, id: string): string {
  return id === run ? shownId : id
}

export function rootOf(state: State): Speaker {
  return state.speakers.get(state.run)!
}

/** The speaker of an event. */
export function speakerOf(state: State, actor: Actor | undefined): Speaker {
  return state.speakers.get(actor?.run ?? state.run) ?? rootOf(state)
}

export function secondsOf(time: string): number {
  return Math.floor(Date.parse(time) / 1000)
}
