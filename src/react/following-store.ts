/**
 * Base class of the stores behind `useRun` and `useSession`: listeners, the persisted id, problems, and following while there is a
 * listener.
 */
import { type Client, ClientError } from '../client/index.ts'
import type { PersistedId } from './persisted-id.ts'

/** Current problems by kind. */
export type Problems<Kind extends string> = { readonly [Each in Kind]?: ClientError | undefined }

interface FollowedState {
  readonly id: string | undefined
  readonly problem: ClientError | undefined
}

interface FollowingStoreOptions<State, Kind> {
  readonly client: Client
  /** State without an id; also that of the server and during hydration. */
  readonly empty: State
  /** Kinds of problems, most important first. */
  readonly kinds: readonly Kind[]
  readonly persistedId: PersistedId | undefined
}

export abstract class FollowingStore<State extends FollowedState, Kind extends string> {
  protected readonly client: Client
  readonly #options: FollowingStoreOptions<State, Kind>
  readonly #listeners = new Set<() => void>()
  #state: State
  #problems: Problems<Kind> = {}
  #following: AbortController | undefined
  #unwatch: (() => void) | undefined

  constructor(options: FollowingStoreOptions<State, Kind>) {
    this.client = options.client
    this.#options = options
    this.#state = options.empty
  }

  readonly state = (): State => this.#state

  readonly initialState = (): State => this.#options.empty

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) this.#wake()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#sleep()
    }
  }

  /** Shows nothing. Runs continue. */
  clear(): void {
    this.select(undefined)
  }

  /** Follows until the signal is aborted or the stream ends. */
  protected abstract follow(id: string, signal: AbortSignal): Promise<void>

  /** The state of an id before its first event. */
  protected abstract begin(id: string): State

  /** Adds the derived fields of a state. */
  protected complete(state: State): State {
    return state
  }

  /** Whether another page may change what is shown. */
  protected get isSelectable(): boolean {
    return true
  }

  /** Shows an id, in all places where it is persisted. */
  protected select(id: string | undefined): void {
    this.#options.persistedId?.write(id)
    this.show(id)
  }

  protected show(id: string | undefined): void {
    this.#following?.abort()
    this.#following = undefined
    this.#problems = {}
    this.set(id === undefined ? this.#options.empty : this.begin(id))
    if (id === undefined || this.#listeners.size === 0) return
    this.#following = new AbortController()
    void this.follow(id, this.#following.signal)
  }

  /** Sends a command, and reports its failure unless something else is shown by then. */
  protected async command(send: () => Promise<unknown>, kind: Kind): Promise<void> {
    const { id } = this.#state
    this.report({ [kind]: undefined } as Problems<Kind>)
    try {
      await send()
    } catch (cause) {
      if (this.#state.id === id) this.report({ [kind]: asProblem(cause) } as Problems<Kind>)
    }
  }

  protected report(problems: Problems<Kind>): void {
    this.note(problems)
    this.set(this.#state)
  }

  /** Changes problems without notifying listeners: a `set` follows. */
  protected note(problems: Problems<Kind>): void {
    this.#problems = { ...this.#problems, ...problems }
  }

  protected set(state: State): void {
    const kind = this.#options.kinds.find((each) => this.#problems[each] !== undefined)
    this.#state = this.complete({ ...state, problem: kind && this.#problems[kind] })
    for (const listener of this.#listeners) listener()
  }

  /** Resumes following, or shows what was selected elsewhere meanwhile. */
  #wake(): void {
    const { persistedId } = this.#options
    const look = (): void => {
      if (!this.isSelectable) return
      const id = persistedId === undefined ? this.#state.id : persistedId.read()
      if (id !== this.#state.id || (id !== undefined && this.#following === undefined)) this.show(id)
    }
    this.#unwatch = persistedId?.watch(look)
    look()
  }

  /** Last subscriber left: a hidden page, or React's strict mode, may come back. */
  #sleep(): void {
    this.#unwatch?.()
    this.#following?.abort()
    this.#following = undefined
  }
}

export function asProblem(cause: unknown): ClientError {
  return cause instanceof ClientError
    ? cause
    : new ClientError(String(cause), { code: 'unexpected', retryable: false, cause })
}
