/** State of the chat view. Immutable: all checkpoints share nodes and maps. */
import type { Question, Usage } from '../../core/model/event.ts'
import type { Chunk } from '../chunks.ts'
import type { ChunkList } from './chunk-list.ts'

/**
 * Identifies a stream of a run: it starts with an answer or, if retracted output had been sent in earlier steps, with the rest of
 * the message after that restart.
 */
export interface ViewStart {
  readonly leg: number
  /** Number of restarts. */
  readonly restart: number
}

/** A tool call without a result. */
export interface OpenTool {
  /** `answered`: the client has sent its result; the log may repeat it. */
  readonly state: 'drafting' | 'called' | 'answered'
  readonly step: number
  /** Index of the event that created its part. */
  readonly createdAt: number
  /** Index of the event that completed its input. */
  readonly calledAt?: number
  /** The part was made up for a question without a call, so the answer is its output. */
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
  /** The actor that performs the step, if it is not the run's own component. */
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
  /** Number of answers so far. */
  readonly leg: number
  /** The answer that started the current message, and the stream that replays it. */
  readonly message: ViewStart
  /** Chunks of all messages. */
  readonly chunks: ChunkList | undefined
  readonly step: number
  /** The component's next output starts a new step. */
  readonly stepDue: boolean
  /** The step has a tool result: a client would send the message again if it was the last one. */
  readonly hasResults: boolean
  readonly text: OpenText | undefined
  /** Text and reasoning parts so far. */
  readonly texts: number
  /** Characters of the component's own text that are not retracted. */
  readonly textChars: number
  readonly tools: ReadonlyMap<string, OpenTool>
  /** Steps and actors that have not ended, by the id of their part. */
  readonly work: ReadonlyMap<string, OpenWork>
  readonly waiting: readonly Question[]
  /** Index of the first pause since the last answer. */
  readonly pausedAt: number | undefined
  /** Index of the newest pause. */
  readonly askedAt: number
  /** By question, and by its call: the number of the answer. */
  readonly answered: ReadonlyMap<string, number>
  readonly restarts: number
  readonly finish: string | undefined
  readonly usage: Usage | undefined
  /** Set for a stream that a route made durable. */
  readonly relay?: Relay | undefined
  /** Id of the first message, if a durable stream has named it. */
  readonly messageId?: string | undefined
  /** Metadata that the end of the run adds to its last message. */
  readonly ended?: unknown
  /** Whether this view has begun, and whether it has ended. */
  readonly visibility: 'pending' | 'open' | 'ended'
  /** Number of the next chunk of this view. */
  readonly position: number
  /** Index of the pause that ended its message, if another message has started. */
  readonly endedAt?: number
}

export interface Relay {
  /** The last chunk was relayed unchanged: events derived from it are not shown. */
  readonly isVerbatim: boolean
  readonly hasBegun: boolean
  readonly isStepOpen: boolean
  /** The source's `finish`. It waits for Holdfast's terminal event. */
  readonly finish?: Extract<Chunk, { type: 'finish' }>
}

export interface ChatFrame {
  /** Number of the chunk. Chunks that close a stream at a pause share their numbers with those after the answer. */
  readonly position: number
  readonly chunk: Chunk | '[DONE]' | undefined
  /** `chunk` as JSON, if it is known. */
  readonly json?: string
  /** Sent only if the stream ends at this pause. */
  readonly closes?: true
  /** The stream may end here. `cut`: the client has output that it cannot take back, so its connection is aborted. */
  readonly end?: 'pause' | 'run' | 'cut'
}
