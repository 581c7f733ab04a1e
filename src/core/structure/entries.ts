/** The entries of a run's structure, in log order. An entry is immutable; a change replaces it. */
import type { Failure, Question, Usage } from '../model/event.ts'
import type { RunStatus } from '../model/run.ts'
import type { TextEntry } from './texts.ts'

/** Common fields of entries. */
export interface EntryFacts {
  /** Index of its first event: the entry's identity. */
  readonly index: number
  /** Time of its first event. */
  readonly time: string
  /** Key of the actor: its run id, or '' for the run's own component. */
  readonly actor: string
  readonly retracted: boolean
}

/** Common fields of work entries. */
export interface WorkFacts extends EntryFacts {
  /** The work is in the ledger: retracting output does not undo it. */
  readonly recorded: boolean
  /** Index of the enclosing step. */
  readonly step?: number | undefined
  readonly endedAt?: string | undefined
}

/** `cut`: its process died, or its run ended before the work did. */
export type WorkState = 'running' | 'done' | 'failed' | 'cut'

/** A tool call. */
export interface ToolEntry extends WorkFacts {
  readonly kind: 'tool'
  readonly call: string
  readonly name: string
  readonly state: WorkState | 'drafting'
  /** The input, while the model streams it. */
  readonly draft: string
  readonly input?: unknown
  readonly progress?: unknown
  readonly output?: unknown
  readonly error?: Failure | undefined
}

/** A step of the run. */
export interface StepEntry extends WorkFacts {
  readonly kind: 'step'
  readonly id: string
  readonly name: string
  readonly stepKind: string
  readonly details?: unknown
  readonly state: WorkState | 'skipped'
  readonly output?: unknown
  readonly error?: Failure | undefined
  readonly reason?: string | undefined
}

/** A component that another one called; `actor` is its own key. */
export interface ActorEntry extends WorkFacts {
  readonly kind: 'actor'
  readonly component: string
  readonly componentKind: string
  /** Key of its caller. */
  readonly caller: string
  readonly state: WorkState
  readonly input: unknown
  readonly output?: unknown
  readonly error?: Failure | undefined
  readonly usage?: Usage | undefined
}

/** A request to a model. */
export interface ModelEntry extends WorkFacts {
  readonly kind: 'model'
  readonly request: string
  readonly model: string
  readonly state: WorkState
  readonly usage?: Usage | undefined
}

/** An artifact, in pieces. */
export interface ArtifactEntry extends EntryFacts {
  readonly kind: 'artifact'
  readonly artifact: string
  readonly name?: string | undefined
  readonly mediaType: string
  /** Whether it is complete. */
  readonly whole: boolean
  /** Newest first, so that adding a chunk costs the same however many there are. */
  readonly pieces: ArtifactPiece
}

/** One piece of an artifact. `previous` links the earlier ones. */
export interface ArtifactPiece {
  readonly index: number
  readonly previous: ArtifactPiece | undefined
  readonly text?: string | undefined
  readonly bytes?: unknown
  readonly url?: string | undefined
  readonly value?: unknown
}

/** A source that the run cites. */
export interface SourceEntry extends EntryFacts {
  readonly kind: 'source'
  readonly source: string
  readonly url?: string | undefined
  readonly title?: string | undefined
}

/** A state, a state change, or a custom value of the agent. */
export interface FactEntry extends EntryFacts {
  readonly kind: 'state' | 'patch' | 'custom'
  readonly name: string
  readonly value: unknown
}

/** The input of the run. */
export interface InputEntry extends EntryFacts {
  readonly kind: 'input'
  readonly value: unknown
}

/** An attempt to execute the run. */
export interface AttemptEntry extends EntryFacts {
  readonly kind: 'attempt'
  readonly number: number
  readonly state: WorkState
  readonly endedAt?: string | undefined
}

/** A release by the worker, or a stop request. */
export interface NoticeEntry extends EntryFacts {
  readonly kind: 'release' | 'stop'
  readonly reason?: string | undefined
}

/** Questions of a pause, with their answers. */
export interface QuestionsEntry extends EntryFacts {
  readonly kind: 'questions'
  readonly questions: readonly Question[]
  readonly answers?: Readonly<Record<string, unknown>> | undefined
  readonly endedAt?: string | undefined
}

/** A retraction of output, with its reason. */
export interface RetractionEntry extends EntryFacts {
  readonly kind: 'retraction'
  readonly from: number
  readonly reason: string
}

/** The end of the run, with its output or error. */
export interface EndEntry extends EntryFacts {
  readonly kind: 'end'
  readonly status: RunStatus
  readonly output?: unknown
  readonly error?: Failure | undefined
  readonly reason?: string | undefined
}

export type WorkEntry = ToolEntry | StepEntry | ActorEntry | ModelEntry

export type Entry =
  | TextEntry
  | WorkEntry
  | ArtifactEntry
  | SourceEntry
  | FactEntry
  | InputEntry
  | AttemptEntry
  | NoticeEntry
  | QuestionsEntry
  | RetractionEntry
  | EndEntry

/** Whether an entry is recorded work: a tool call, a step, a model request or a called component. */
export function isWork(entry: Entry): entry is WorkEntry {
  return entry.kind === 'tool' || entry.kind === 'step' || entry.kind === 'actor' || entry.kind === 'model'
}

/** Whether it is work in progress that is not retracted. */
export function isOpen(entry: Entry): entry is WorkEntry {
  return isWork(entry) && !entry.retracted && (entry.state === 'running' || entry.state === 'drafting')
}

/** Oldest first. */
export function piecesOf({ pieces }: ArtifactEntry): ArtifactPiece[] {
  const found: ArtifactPiece[] = []
  for (let at: ArtifactPiece | undefined = pieces; at !== undefined; at = at.previous) found.push(at)
  return found.toReversed()
}
