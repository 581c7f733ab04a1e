/** The run that a component shows: follows it, and is told to start, stop and answer. A store for React's eyes. */
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

export interface ShownRun extends Omit<RunViewState, 'status'> {
  /** Id of the run that is shown, if there is one. */
  readonly id: string | undefined
  /** `idle`: there is no run. `starting`: it is asked for. */
  readonly status: RunViewState['status'] | 'idle' | 'starting'
  /**
   * Why the run cannot be started, followed, stopped or answered, or that its beginning was trimmed; what the run itself failed with
   * is `error`. While it is tried again, `problem.retrying` is true; it goes away when the connection is well again.
   */
  readonly problem: ClientError | undefined
}

/** What is wrong, the most important first. */
interface Problems {
  /** It is followed no more, or could not be started. */
  readonly ended?: ClientError | undefined
  /** The connection fails, and is tried again. */
  readonly connection?: ClientError | undefined
  /** The last stop or answer was refused. */
  readonly command?: ClientError | undefined
  /** What is shown is not the whole run, or not what was shown before. */
  readonly notice?: ClientError | undefined
}

const idle: ShownRun = { id: undefined, status: 'idle', problem: undefined, text: '', events: [], questions: [] }

/** Events that come within so many milliseconds are shown together. */
export const TOGETHER_MS = 16

export class RunStore {
  readonly #client: Client
  readonly #kept: PersistedId | undefined
  readonly #listeners = new Set<() => void>()
  #state = idle
  #problems: Problems = {}
  /** The start whose run is to be shown: another one, or another run, takes its place. */
  #starting: object | undefined
  #following: AbortController | undefined
  #unwatch: (() => void) | undefined

  constructor(client: Client, kept: PersistedId | undefined) {
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
    this.#show(undefined)
    const starting = (this.#starting = {})
    this.#set({ ...idle, status: 'starting' })
    const onProblem: OnProblem = (problem) => {
      if (this.#starting === starting) this.#report({ connection: problem })
    }
    try {
      const { id } = await this.#client.runs.start(request, { onProblem })
      if (this.#starting !== starting) return // another run is shown by now
      this.#kept?.write(id)
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

  /** Answers the question of a paused run, or several by their ids. */
  async answer(answer: unknown, question?: string): Promise<void> {
    const answers = question === undefined ? { answer } : { answers: { [question]: answer } }
    await this.#command((id) => this.#client.runs.answer(id, answers))
  }

  /** Shows no run any more. The run goes on. */
  clear(): void {
    this.#kept?.write(undefined)
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

  /** Goes on with what was shown, or shows what was chosen elsewhere meanwhile. What is being started goes before both. */
  #wake(): void {
    const look = (): void => {
      if (this.#starting !== undefined) return
      const id = this.#kept === undefined ? this.#state.id : this.#kept.read()
      if (id !== this.#state.id || (id !== undefined && this.#following === undefined)) this.#show(id)
    }
    this.#unwatch = this.#kept?.watch(look)
    look()
  }

  /** Nobody looks: a page that hides its views, or React in strict mode, may come back. A start goes on. */
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
      for await (const event of this.#client.runs.stream(id, { signal, onGap, onLogChanged, onProblem })) {
        batch.push(event)
        timer ??= setTimeout(() => flush(), TOGETHER_MS)
      }
      flush({ connection: undefined })
    } catch (cause) {
      // The events that came before it are shown with it, and none of them takes it away again.
      flush({ connection: undefined, ended: asProblem(cause) })
    }
  }

  #report(problems: Problems): void {
    this.#problems = { ...this.#problems, ...problems }
    this.#set(this.#state)
  }

  #set(state: Omit<ShownRun, 'problem'>): void {
    const { ended, connection, command, notice } = this.#problems
    this.#state = { ...state, problem: ended ?? connection ?? command ?? notice }
    for (const listener of this.#listeners) listener()
  }
}

function asProblem(cause: unknown): ClientError {
  return cause instanceof ClientError
    ? cause
    : new ClientError(String(cause), { code: 'unexpected', retryable: false, cause })
}
