/** External store behind `useRun`: follows the shown run, and starts, stops and answers it. */
import {
  type Client,
  ClientError,
  GapError,
  LogChangedError,
  type OnGap,
  type OnLogChanged,
  type OnProblem,
  RunView,
  type RunViewState,
  type StartRequest,
} from '../client/index.ts'
import type { PersistedId } from './persisted-id.ts'

/** The run that `useRun` shows. */
export interface RunStoreState extends Omit<RunViewState, 'status'> {
  /** Id of the shown run, if there is one. */
  readonly id: string | undefined
  /** `idle`: no run. `starting`: requested. */
  readonly status: RunViewState['status'] | 'idle' | 'starting'
  /**
   * Why the run cannot be started, followed, stopped or answered, or that its beginning was trimmed. The run's own failure is
   * `error`. `problem.retrying` is true while the client retries; the problem disappears when the connection has recovered.
   */
  readonly problem: ClientError | undefined
}

/** Current problems, most important first. */
interface Problems {
  /** Following has ended, or the start failed. */
  readonly ended?: ClientError | undefined
  /** The connection failed and is being retried. */
  readonly connection?: ClientError | undefined
  /** The last stop or answer was refused. */
  readonly command?: ClientError | undefined
  /** The view is incomplete, or differs from what was shown before. */
  readonly notice?: ClientError | undefined
}

const idle: RunStoreState = { id: undefined, status: 'idle', problem: undefined, text: '', events: [], questions: [] }

/** Events that arrive within this time are shown together. */
export const TOGETHER_MS = 16

export class RunStore {
  readonly #client: Client
  readonly #persistedId: PersistedId | undefined
  readonly #listeners = new Set<() => void>()
  #state = idle
  #problems: Problems = {}
  /** The pending start. Another start, or another run, replaces it. */
  #starting: object | undefined
  #following: AbortController | undefined
  #unwatch: (() => void) | undefined

  constructor(client: Client, kept: PersistedId | undefined) {
    this.#client = client
    this.#persistedId = kept
  }

  readonly state = (): RunStoreState => this.#state

  /** On the server and during hydration there is no run. */
  readonly initialState = (): RunStoreState => idle

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) this.#wake()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#sleep()
    }
  }

  async start(request: StartRequest): Promise<void> {
    this.#show(undefined)
    const starting = (this.#starting = {})
    this.#set({ ...idle, status: 'starting' })
    const onProblem: OnProblem = (problem) => {
      if (this.#starting === starting) this.#report({ connection: problem })
    }
    try {
      const { id } = await this.#client.runs.start(request, { onProblem })
      if (this.#starting !== starting) return // another run is shown by now
      this.#persistedId?.write(id)
      this.#show(id)
    } catch (cause) {
      if (this.#starting !== starting) return
      this.#show(undefined)
      this.#report({ ended: asProblem(cause) })
    }
  }

  async stop(): Promise<void> {
    await this.#command((id) => this.#client.runs.stop(id))
  }

  /** Answers the question of a paused run, or one of several by id. */
  async answer(answer: unknown, question?: string): Promise<void> {
    const answers = question === undefined ? { answer } : { answers: { [question]: answer } }
    await this.#command((id) => this.#client.runs.answer(id, answers))
  }

  /** Shows no run any more. The run itself continues. */
  clear(): void {
    this.#persistedId?.write(undefined)
    this.#show(undefined)
  }

  async #command(send: (id: string) => Promise<unknown>): Promise<void> {
    const { id } = this.#state
    if (id === undefined) return
    this.#report({ command: undefined })
    try {
      await send(id)
    } catch (cause) {
      if (this.#state.id === id) this.#report({ command: asProblem(cause) })
    }
  }

  /** Resumes following, or shows what was selected elsewhere meanwhile. A pending start takes precedence. */
  #wake(): void {
    const look = (): void => {
      if (this.#starting !== undefined) return
      const id = this.#persistedId === undefined ? this.#state.id : this.#persistedId.read()
      if (id !== this.#state.id || (id !== undefined && this.#following === undefined)) this.#show(id)
    }
    this.#unwatch = this.#persistedId?.watch(look)
    look()
  }

  /** Last subscriber left: a hidden page, or React's strict mode, may come back. A pending start continues. */
  #sleep(): void {
    this.#unwatch?.()
    this.#following?.abort()
    this.#following = undefined
  }

  #show(id: string | undefined): void {
    this.#starting = undefined
    this.#following?.abort()
    this.#following = undefined
    this.#problems = {}
    this.#set(id === undefined ? idle : { ...idle, id, status: 'queued' })
    if (id === undefined || this.#listeners.size === 0) return
    this.#following = new AbortController()
    void this.#follow(id, this.#following.signal)
  }

  async #follow(id: string, signal: AbortSignal): Promise<void> {
    let view = new RunView()
    let batch: Parameters<RunView['apply']>[0][number][] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const flush = (problems: Problems = {}): void => {
      clearTimeout(timer)
      timer = undefined
      view.apply(batch)
      batch = []
      if (signal.aborted) return
      this.#problems = { ...this.#problems, ...problems }
      this.#set({ ...view.state, id })
    }
    const report = (problems: Problems): void => {
      if (!signal.aborted) this.#report(problems)
    }
    const onGap: OnGap = ({ run, earliest }) => report({ notice: new GapError(run, earliest) })
    const onLogChanged: OnLogChanged = ({ run }) => {
      view = new RunView()
      batch = []
      flush({ notice: new LogChangedError(run) })
    }
    const onProblem: OnProblem = (connection) => report({ connection })
    try {
      for await (const event of this.#client.runs.events(id, { signal, onGap, onLogChanged, onProblem })) {
        batch.push(event)
        timer ??= setTimeout(() => flush(), TOGETHER_MS)
      }
      flush({ connection: undefined })
    } catch (cause) {
      // Shown together with the events before it, none of which clears it.
      flush({ connection: undefined, ended: asProblem(cause) })
    }
  }

  #report(problems: Problems): void {
    this.#problems = { ...this.#problems, ...problems }
    this.#set(this.#state)
  }

  #set(state: Omit<RunStoreState, 'problem'>): void {
    const { ended, connection, command, notice } = this.#problems
    this.#state = { ...state, problem: ended ?? connection ?? command ?? notice }
    for (const listener of this.#listeners) listener()
  }
}

export function asProblem(cause: unknown): ClientError {
  return cause instanceof ClientError
    ? cause
    : new ClientError(String(cause), { code: 'unexpected', retryable: false, cause })
}
