/** Block types of a conversation. */
import type { Failure, Question, RunStatus } from 'holdfast/client'

interface Common {
  /** Index of its first event; also its key. */
  readonly index: number
  /** Run id of the actor; '' for the run's own component. */
  readonly actor: string
  /** It was retracted. */
  readonly discarded: boolean
}

export interface TextBlock extends Common {
  readonly kind: 'text' | 'reasoning'
  readonly text: string
  readonly open: boolean
}

export interface ToolBlock extends Common {
  readonly kind: 'tool'
  readonly call: string
  readonly name: string
  readonly state: 'drafting' | 'running' | 'done' | 'failed' | 'cut'
  /** The input while the model is streaming it. */
  readonly draft: string
  readonly input?: unknown
  readonly progress?: unknown
  readonly output?: unknown
  readonly error?: Failure | undefined
  readonly startedAt: string
  readonly endedAt?: string | undefined
}

export interface StepBlock extends Common {
  readonly kind: 'step'
  readonly name: string
  readonly stepKind: string
  /** Index of the enclosing step. */
  readonly parent?: number | undefined
  readonly depth: number
  readonly state: 'running' | 'done' | 'failed' | 'skipped' | 'cut'
  readonly output?: unknown
  readonly error?: Failure | undefined
  readonly reason?: string | undefined
}

export interface MemberBlock extends Common {
  readonly kind: 'member'
  readonly component: string
  readonly memberKind: string
  /** Index of the step around it. */
  readonly within?: number | undefined
  readonly state: 'running' | 'done' | 'failed' | 'cut'
  readonly input: unknown
  readonly error?: Failure | undefined
}

export interface AskBlock extends Common {
  readonly kind: 'ask'
  readonly questions: readonly Question[]
  readonly answers?: Readonly<Record<string, unknown>> | undefined
}

export interface ArtifactBlock extends Common {
  readonly kind: 'artifact'
  readonly artifact: string
  readonly name?: string | undefined
  readonly mediaType: string
  readonly text: string
  /** Base64. */
  readonly chunks: readonly string[]
  readonly url?: string | undefined
  readonly value?: unknown
  readonly whole: boolean
}

export interface SourceBlock extends Common {
  readonly kind: 'source'
  readonly title: string
  readonly url?: string | undefined
}

export interface FactBlock extends Common {
  readonly kind: 'fact'
  readonly name: string
  readonly value: unknown
}

export interface NoteBlock extends Common {
  readonly kind: 'note'
  readonly tone: 'plain' | 'warning'
  readonly text: string
}

export interface InputBlock extends Common {
  readonly kind: 'input'
  readonly value: unknown
}

export interface EndBlock extends Common {
  readonly kind: 'end'
  readonly status: RunStatus
  readonly output?: unknown
  readonly error?: Failure | undefined
  readonly reason?: string | undefined
}

export type Block =
  | TextBlock
  | ToolBlock
  | StepBlock
  | MemberBlock
  | AskBlock
  | ArtifactBlock
  | SourceBlock
  | FactBlock
  | NoteBlock
  | InputBlock
  | EndBlock

/** A block before it has an index. */
export type NewBlock = Block extends infer Each ? (Each extends Block ? Omit<Each, keyof Common> : never) : never
