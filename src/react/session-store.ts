/** External store behind `useSession`: follows a session's runs, and starts, stops and answers them. */
import {
  type AssistantMessage,
  type Client,
  type ClientError,
  GapError,
  type LoggedEvent,
  type OnGap,
  type OnProblem,
  type SessionMessage,
} from '../client/index.ts'
import { SessionView } from '../client/session-view.ts'
import type { PersistedId } from './persisted-id.ts'
import { asProblem, TOGETHER_MS } from './run-store.ts'

/** The session that `useSession` shows. */
export interface SessionStoreState {
  /** Id of the shown session, if there is one. */
  readonly id: string | undefined
  /** Oldest first: the input of each run, and what the run has said and done so far. */
  readonly messages: readonly SessionMessage[]
  /** A run is being started, or has not ended. */
  readonly isBusy: boolean
  /**
   * Why a run cannot be started, stopped or answered, or the session not be followed, or that events were trimmed. A run's own failure
   * is in its message. `problem.retrying` is true while the client retries.
   */
  readonly problem: ClientError | undefined
}

/** States of a run that has not ended. */
const OPEN: ReadonlySet<AssistantMessage['status']> = new Set(['queued', 'running', 'paused'] as const)

const empty: SessionStoreState = { id: undefined, messages: [], isBusy: false, problem: undefined }

/** Current problems, most important first. */
const KINDS = ['followed', 'started', 'connection', 'command', 'notice'] as const
type Problems = { readonly [Kind in (typeof KINDS)[number]]?: ClientError | undefined }

export class SessionStore {
  readonly #client: Client
  readonly #persistedId: PersistedId | undefined
  readonly #listeners = new Set<() => void>()
  #state = empty
  #problems: Problems = {}
  #starting = 0
  #following: AbortController | undefined
  #unwatch: (() => void) | undefined

  constructor(client: Client, kept: PersistedId | undefined) {
    this.#client = client
    this.#persistedId = kept
  }

  readonly state = (): SessionStoreState => this.#state

  /** On the server and during hydration there is no session. */
  readonly initialState = (): SessionStoreState => empty

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) this.#wake()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#sleep()
    }
  }

  /** Starts a run in the session, or in a new one. */
  async send(component: string, input: unknown): Promise<void> {
    const session = this.#state.id ?? newSession()
    // Before the run exists: a reload meanwhile shows the session, and the run once it has started.
    if (this.#state.id === undefined) this.#show(session, true)
    const report = (problems: Problems): void => {
      if (this.#state.id === session) this.#report(problems)
    }
    this.#starting++
    report({ started: undefined, connection: undefined })
    try {
      const onProblem: OnProblem = (connection) => report({ connection })
      await this.#client.runs.start({ component, input, session }, { onProblem })
    } catch (cause) {
      report({ started: asProblem(cause) })
    } finally {
      this.#starting--
      report({})
    }
  }

  /** Stops all runs of the session that have not ended. */
  async stop(): Promise<void> {
    await this.#command(() => Promise.all(this.#unfinished().map(({ run }) => this.#client.runs.stop(run))))
  }

  /** Answers the question that was asked last, or one of several by id. */
  async answer(answer: unknown, question?: string): Promise<void> {
    const asked = this.#unfinished().findLast(({ questions }) =>
      question === undefined ? questions.length > 0 : questions.some(({ id }) => id === question),
    )
    if (asked === undefined) return
    const answers = question === undefined ? { answer } : { answers: { [question]: answer } }
    await this.#command(() => this.#client.runs.answer(asked.run, answers))
  }

  /** Shows no session any more. Its runs continue. */
  clear(): void {
    this.#show(undefined, true)
  }

  #unfinished(): AssistantMessage[] {
    return this.#state.messages.filter(
      (message): message is AssistantMessage => message.role === 'assistant' && OPEN.has(message.status),
    )
  }

  async #command(send: () => Promise<unknown>): Promise<void> {
    const { id } = this.#state
    this.#report({ command: undefined })
    try {
      await send()
    } catch (cause) {
      if (this.#state.id === id) this.#report({ command: asProblem(cause) })
    }
  }

  /** Resumes following, or shows what was selected elsewhere meanwhile. */
  #wake(): void {
    const look = (): void => {
      const id = this.#persistedId === undefined ? this.#state.id : this.#persistedId.read()
      if (id !== this.#state.id || (id !== undefined && this.#following === undefined)) this.#show(id)
    }
    this.#unwatch = this.#persistedId?.watch(look)
    look()
  }

  /** Last subscriber left: a hidden page, or React's strict mode, may come back. */
  #sleep(): void {
    this.#unwatch?.()
    this.#following?.abort()
    this.#following = undefined
  }

  #show(id: string | undefined, persists = false): void {
    if (persists) this.#persistedId?.write(id)
    this.#following?.abort()
    this.#following = undefined
    this.#problems = {}
    this.#set({ ...empty, id })
    if (id === undefined || this.#listeners.size === 0) return
    this.#following = new AbortController()
    void this.#follow(id, this.#following.signal)
  }

  async #follow(id: string, signal: AbortSignal): Promise<void> {
    const view = new SessionView()
    let batch: LoggedEvent[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const flush = (problems: Problems = {}): void => {
      clearTimeout(timer)
      timer = undefined
      view.apply(batch)
      batch = []
      if (signal.aborted) return
      this.#problems = { ...this.#problems, ...problems }
      this.#set({ ...this.#state, messages: view.messages })
    }
    const report = (problems: Problems): void => {
      if (!signal.aborted) this.#report(problems)
    }
    const onGap: OnGap = ({ run, earliest }) => report({ notice: new GapError(run, earliest) })
    const onProblem: OnProblem = (connection) => report({ connection })
    try {
      for await (const event of this.#client.sessions.follow(id, { signal, onGap, onProblem })) {
        batch.push(event)
        timer ??= setTimeout(() => flush(), TOGETHER_MS)
      }
    } catch (cause) {
      flush({ connection: undefined, followed: asProblem(cause) })
    }
  }

  #report(problems: Problems): void {
    this.#problems = { ...this.#problems, ...problems }
    this.#set(this.#state)
  }

  #set(state: SessionStoreState): void {
    this.#state = state
    const isBusy = this.#starting > 0 || this.#unfinished().length > 0
    const kind = KINDS.find((each) => this.#problems[each] !== undefined)
    this.#state = { ...state, isBusy, problem: kind && this.#problems[kind] }
    for (const listener of this.#listeners) listener()
  }
}

function newSession(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return `session_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
