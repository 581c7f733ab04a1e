/** A graph's checkpoint thread: starts the graph on it, and repeats an interrupted start. */

/** The parts of a compiled graph that are used, whatever its state type. */
export interface LangGraph {
  stream(input: never, options: never): Promise<AsyncIterable<unknown>>
  getState(config: never): Promise<LangGraphState>
  readonly checkpointer?: unknown
}

/** The part of a LangGraph `StateSnapshot` that Holdfast reads. */
export interface LangGraphState {
  readonly values: unknown
  readonly next: readonly string[]
  readonly config: { readonly configurable?: Readonly<Record<string, unknown>> }
}

interface Checkpointer {
  deleteThread(thread: string): Promise<void>
}

export class Thread {
  readonly #graph: LangGraph
  readonly #config: Readonly<Record<string, unknown>>

  constructor(graph: LangGraph, config: Readonly<Record<string, unknown>>) {
    this.#graph = graph
    this.#config = config
  }

  get isKept(): boolean {
    return typeof this.#graph.checkpointer === 'object' && this.#graph.checkpointer !== null
  }

  /** The newest checkpoint; null: none. */
  async head(): Promise<string | null> {
    if (!this.isKept) return null
    const id = (await this.state()).config.configurable?.['checkpoint_id']
    return typeof id === 'string' ? id : null
  }

  state(): Promise<LangGraphState> {
    return this.#graph.getState(this.#config as never)
  }

  /**
   * Starts or continues the graph after a checkpoint. If the thread has advanced further, a process died before the log
   * recorded it and its output was lost, so the superstep is repeated.
   */
  async open(input: unknown, after: string | null): Promise<AsyncIterable<unknown>> {
    const head = await this.head()
    const configurable = { ...(this.#config['configurable'] as Record<string, unknown>) }
    if (head !== after) {
      if (after === null) await this.#checkpointer.deleteThread(String(configurable['thread_id']))
      else configurable['checkpoint_id'] = after
    }
    const streamMode = ['messages', 'tasks', 'custom', this.isKept ? 'checkpoints' : 'values']
    return this.#graph.stream(input as never, { ...this.#config, configurable, streamMode } as never)
  }

  get #checkpointer(): Checkpointer {
    return this.#graph.checkpointer as Checkpointer
  }
}
