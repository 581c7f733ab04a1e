/** The run that a component shows: follows it, and is told to start, stop and answer. A store for React's eyes. */
import {
  type Client,
  ClientError,
  GapError,
  LogChangedError,
  type OnGap,
  type OnLogChanged,
  RunView,
  type RunViewState,
  type StartRequest,
} from '../client/index.ts'
import type { KeptId } from './kept-id.ts'

export interface ShownRun extends Omit<RunViewState, 'status'> {
  /** Id of the run that is shown, if there is one. */
  readonly id: string | undefined
  /** `idle`: there is no run. `starting`: it is asked for. */
  readonly status: RunViewState['status'] | 'idle' | 'starting'
  /** Why the run cannot be started or followed, or that its beginning was trimmed; what the run itself failed with is `error`. */
  readonly problem: ClientError | undefined
}

const idle: ShownRun = { id: undefined, status: 'idle', problem: undefined, text: '', events: [], questions: [] }

/** Events that come within so many milliseconds are shown together. */
const TOGETHER_MS = 16

export class RunShow {
  readonly #client: Client
  readonly #kept: KeptId | undefined
  readonly #listeners = new Set<() => void>()
  #state = idle
  #following: AbortController | undefined
  #unwatch: (() => void) | undefined

  constructor(client: Client, kept: KeptId | undefined) {
    this.#client = client
    this.#kept = kept
  }

  readonly state = (): ShownRun => this.#state

  /** On the server, and while a page is brought to life, there is no run. */
  readonly initialState = (): ShownRun => idle

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) this.#wake()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#sleep()
    }
  }

  async start(request: StartRequest): Promise<void> {
    this.#show(undefined, { ...idle, status: 'starting' })
    const following = this.#following
    try {
      const { id } = await this.#client.runs.start(request)
      if (this.#following !== following) return // another run is shown by now
      this.#kept?.write(id)
      this.#show(id)
    } catch (cause) {
      if (this.#following === following) this.#set({ ...idle, problem: asProblem(cause) })
    }
  }

  async stop(): Promise<void> {
    await this.#command((id) => this.#client.runs.stop(id))
  }

  /** Answers the question of a paused run, or several by their ids. */
  async input(answer: unknown, question?: string): Promise<void> {
    const answers = question === undefined ? { answer } : { answers: { [question]: answer } }
    await this.#command((id) => this.#client.runs.continue(id, answers))
  }

  /** Shows no run any more. The run goes on. */
  clear(): void {
    this.#kept?.write(undefined)
    this.#show(undefined)
  }

  async #command(send: (id: string) => Promise<unknown>): Promise<void> {
    const { id } = this.#state
    if (id === undefined) return
    try {
      await send(id)
    } catch (cause) {
      if (this.#state.id === id) this.#set({ ...this.#state, problem: asProblem(cause) })
    }
  }

  #wake(): void {
    const look = (): void => {
      const id = this.#kept?.read()
      if (id !== this.#state.id) this.#show(id)
    }
    this.#unwatch = this.#kept?.watch(look)
    const { id } = this.#state
    if (id !== undefined && this.#following === undefined) this.#show(id)
    else look()
  }

  #sleep(): void {
    this.#unwatch?.()
    this.#following?.abort()
    this.#following = undefined
  }

  #show(id: string | undefined, state: ShownRun = idle): void {
    this.#following?.abort()
    this.#following = new AbortController()
    this.#set(id === undefined ? state : { ...idle, id, status: 'queued' })
    if (id !== undefined) void this.#follow(id, this.#following.signal)
  }

  async #follow(id: string, signal: AbortSignal): Promise<void> {
    let view = new RunView()
    let batch: Parameters<RunView['apply']>[0][number][] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    let notice: GapError | LogChangedError | undefined
    const flush = (problem: ClientError | undefined = notice): void => {
      clearTimeout(timer)
      view.apply(batch)
      batch = []
      if (!signal.aborted) this.#set({ ...view.state, id, problem })
    }
    // What is shown is not the whole run, or not what was shown before, and says so for as long as it is shown.
    const onGap: OnGap = ({ run, earliest }) => (notice = new GapError(run, earliest))
    const onLogChanged: OnLogChanged = ({ run }) => {
      notice = new LogChangedError(run)
      view = new RunView()
      batch = []
    }
    try {
      for await (const event of this.#client.runs.stream(id, { signal, onGap, onLogChanged })) {
        if (batch.push(event) === 1) timer = setTimeout(flush, TOGETHER_MS)
      }
      flush()
    } catch (cause) {
      // The events that came before it are shown with it, and none of them takes it away again.
      flush(asProblem(cause))
    }
  }

  #set(state: ShownRun): void {
    this.#state = state
    for (const listener of this.#listeners) listener()
  }
}

function asProblem(cause: unknown): ClientError {
  return cause instanceof ClientError
    ? cause
    : new ClientError(String(cause), { code: 'unexpected', retryable: false, cause })
}
