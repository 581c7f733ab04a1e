/** External store of the run page: follows a run's log, folds it, and seeks in it for a replay. */
import { type Client, ClientError, type LoggedEvent, type Question, type RunStatus } from 'holdfast/client'
import { RunStructure } from 'holdfast/structure'
import type { Block } from './blocks.ts'
import { ConversationBlocks } from './conversation-blocks.ts'
import { RunSpans } from './spans.ts'

/** Events within this many milliseconds are shown together; longer if rendering is slow. */
const TOGETHER_MS = 40
const TOGETHER_MS_MAX = 1000
/** The oldest events of a longer log are dropped; their folded state stays. */
const EVENTS_MAX = 200_000

export interface ShownRun {
  /** All events in memory, even if a replay shows fewer. The list grows in place, so compare `count`. */
  readonly events: readonly LoggedEvent[]
  readonly count: number
  /** Number of events shown. */
  readonly upTo: number
  readonly replaying: boolean
  readonly status: RunStatus
  readonly blocks: readonly Block[]
  readonly questions: readonly Question[]
  readonly fold: Folds
  /** Events before it were trimmed. */
  readonly earliest: number
  readonly ended: boolean
  readonly problem: ClientError | undefined
}

export interface Folds {
  readonly structure: RunStructure
  readonly conversation: ConversationBlocks
  readonly spans: RunSpans
}

function newFolds(): Folds {
  const structure = new RunStructure()
  return { structure, conversation: new ConversationBlocks(structure), spans: new RunSpans(structure) }
}

export class RunWatch {
  readonly #client: Client
  readonly #id: string
  readonly #onEvents: ((events: readonly LoggedEvent[]) => void) | undefined
  readonly #listeners = new Set<() => void>()
  #events: LoggedEvent[] = []
  #pending: LoggedEvent[] = []
  #folds = newFolds()
  #folded = 0
  #drawingMs = 0
  #upTo: number | undefined
  #earliest = 0
  #problem: ClientError | undefined
  #following: AbortController | undefined
  #shown: ShownRun

  constructor(client: Client, id: string, onEvents?: (events: readonly LoggedEvent[]) => void) {
    this.#client = client
    this.#id = id
    this.#onEvents = onEvents
    this.#shown = this.#look()
  }

  readonly state = (): ShownRun => this.#shown

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) void this.#follow()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#following?.abort()
      this.#following = undefined
    }
  }

  /** Shows only the first events. Default: all, including new ones. */
  seek(upTo: number | undefined): void {
    this.#upTo = upTo === undefined ? undefined : Math.max(0, Math.min(upTo, this.#events.length))
    this.#publish()
  }

  async #follow(): Promise<void> {
    const following = (this.#following = new AbortController())
    const { signal } = following
    const after = this.#events.at(-1)?.index ?? -1
    const onGap = ({ earliest }: { earliest: number }): void => void (this.#earliest = earliest)
    try {
      for await (const event of this.#client.runs.events(this.#id, { after, signal, onGap })) {
        if (signal.aborted) return
        if (this.#pending.push(event) === 1) setTimeout(() => this.#flush(), this.#togetherMs())
      }
    } catch (cause) {
      if (signal.aborted) return
      this.#problem =
        cause instanceof ClientError ? cause : new ClientError(String(cause), { code: 'unexpected', retryable: false })
      this.#publish()
    }
  }

  /** Rendering takes at most a third of the time, so that the page stays responsive. */
  #togetherMs(): number {
    return Math.min(Math.max(TOGETHER_MS, this.#drawingMs * 2), TOGETHER_MS_MAX)
  }

  #flush(): void {
    const events = this.#pending
    this.#pending = []
    for (const event of events) this.#events.push(event)
    if (this.#events.length > EVENTS_MAX && this.#upTo === undefined) {
      this.#catchUp(this.#events.length)
      const dropped = this.#events.length - EVENTS_MAX
      this.#events = this.#events.slice(dropped)
      this.#folded -= dropped
    }
    this.#onEvents?.(events)
    const began = performance.now()
    this.#publish()
    setTimeout(() => (this.#drawingMs = performance.now() - began)) // React has rendered by then
  }

  #publish(): void {
    const upTo = this.#upTo ?? this.#events.length
    if (upTo < this.#folded) this.#reset()
    this.#catchUp(upTo)
    this.#shown = this.#look()
    for (const listener of this.#listeners) listener()
  }

  #reset(): void {
    this.#folds = newFolds()
    this.#folded = 0
  }

  #catchUp(upTo: number): void {
    if (upTo <= this.#folded) return
    const events = this.#events.slice(this.#folded, upTo)
    for (const event of events) this.#folds.structure.apply(event)
    this.#folds.spans.apply(events)
    this.#folded = upTo
  }

  #look(): ShownRun {
    const { status, questions } = this.#folds.structure.lifecycle
    const ended = ['completed', 'failed', 'cancelled', 'rejected'].includes(status)
    return {
      events: this.#events,
      count: this.#events.length,
      upTo: this.#folded,
      replaying: this.#upTo !== undefined,
      status,
      blocks: this.#folds.conversation.list(),
      questions,
      fold: this.#folds,
      earliest: this.#earliest,
      ended,
      problem: this.#problem,
    }
  }
}
