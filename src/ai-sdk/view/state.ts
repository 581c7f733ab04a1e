/** What the chat view knows of a run. Immutable: nodes and maps are shared by all checkpoints. */
import type { Question, Usage } from '../../core/model/event.ts'
import type { TemplateMemo } from '../../core/model/json-template.ts'
import type { Chunk } from '../chunks.ts'
import type { ChunkList } from './chunk-list.ts'

/**
 * Which stream of a run: it begins with a leg, or, if retracted output had been sent in earlier steps, with what is left of the message
 * after that restart.
 */
export interface ViewStart {
  readonly leg: number
  /** 0: none. */
  readonly restart: number
}

/** A tool call without a result. */
export interface OpenTool {
  /** `answered`: the client has given its result; the log may repeat it. */
  readonly state: 'drafting' | 'called' | 'answered'
  readonly step: number
  /** Index of the event that created its part. */
  readonly createdAt: number
  /** Index of the event that completed its input. */
  readonly calledAt?: number
  /** The part was made for a question without a call, so its answer is its output. */
  readonly asks?: true
  readonly denied?: true
}

export interface OpenWork {
  /** Number of the message's step that has its part. */
  readonly step: number
  readonly data: WorkData
}

/** Data of a step's or an actor's part. */
export interface WorkData {
  readonly name: string
  readonly state: 'running' | 'done' | 'failed' | 'skipped'
  readonly kind?: string
  readonly component?: string
  readonly parent?: string
  /** Who performs the step, if it is not the run's own component. */
  readonly actor?: string
  readonly error?: string
  readonly reason?: string
}

/** A text or reasoning part that the client appends to. */
export interface OpenText {
  readonly kind: 'text' | 'reasoning'
  readonly id: string
  readonly message: string | undefined
}

export interface ChatState {
  readonly run: string
  readonly session: string
  /** Answers so far. */
  readonly leg: number
  /** The leg that began the current message, and the stream that replays it. */
  readonly message: ViewStart
  /** Chunks of all messages. */
  readonly chunks: ChunkList | undefined
  readonly step: number
  /** What the component says next begins a new step. */
  readonly stepDue: boolean
  /** The step has a result of a tool: a client would send the message again if it was the last one. */
  readonly hasResults: boolean
  readonly text: OpenText | undefined
  /** Of the chunks of texts. */
  readonly textTemplate: TemplateMemo
  /** Text and reasoning parts so far. */
  readonly texts: number
  /** Characters of the component's own text that stand. */
  readonly textChars: number
  readonly tools: ReadonlyMap<string, OpenTool>
  /** Steps and actors that have not ended, by the id of their part. */
  readonly work: ReadonlyMap<string, OpenWork>
  readonly waiting: readonly Question[]
  /** Index of the first pause since the last answer. */
  readonly pausedAt: number | undefined
  /** Index of the newest pause. */
  readonly askedAt: number
  /** By question, and by the call that it was about: the leg that its answer began. */
  readonly answered: ReadonlyMap<string, number>
  readonly restarts: number
  readonly finish: string | undefined
  readonly usage: Usage | undefined
  /** Of a stream that a route made durable: how its own chunks are shown. */
  readonly relay?: Relay | undefined
  /** Id of the first message, if a durable stream has named it. */
  readonly messageId?: string | undefined
  /** Metadata that the end of the run adds to its last message. */
  readonly ended?: unknown
  /** Whether this view has begun, and whether it has ended. */
  readonly visibility: 'pending' | 'open' | 'ended'
  /** Number of the next chunk of this view. */
  readonly position: number
  /** Index of the pause with which its message ended, if another message began. */
  readonly endedAt?: number
}

export interface Relay {
  /** The last chunk was kept as it came: what is derived from it is not shown. */
  readonly isVerbatim: boolean
  readonly hasBegun: boolean
  readonly isStepOpen: boolean
  /** The end as the source says it. It waits for our terminal event. */
  readonly finish?: Extract<Chunk, { type: 'finish' }>
}

export interface ChatFrame {
  /** Number of the chunk. Those that close a stream at a pause have none of their own: what follows after the answer has it. */
  readonly position: number
  readonly chunk: Chunk | '[DONE]' | undefined
  /** `chunk` as JSON, if it is known. */
  readonly json?: string
  /** Sent only if the stream ends at this pause. */
  readonly closes?: true
  /** The stream may end here. `cut`: the client has output that it cannot take back, so its connection is aborted. */
  readonly end?: 'pause' | 'run' | 'cut'
}
