/** External store behind `useRun`: follows the shown run, and starts, stops and answers it. */
import {
  type Answers,
  type Client,
  GapError,
  LogChangedError,
  type LoggedEvent,
  type OnGap,
  type OnLogChanged,
  type OnProblem,
  RunView,
  type StartRequest,
} from '../client/index.ts'
import { EventBatches } from './event-batches.ts'
import { asProblem, FollowingStore, type Problems } from './following-store.ts'
import type { PersistedId } from './persisted-id.ts'
import type { UseRunResult } from './use-run.ts'

/** The run that `useRun` shows: its result without the commands. */
type RunStoreState = Omit<UseRunResult, 'start' | 'stop' | 'answer' | 'clear'>

/**
 * Kinds of problems, most important first. `ended`: following has ended, or the start failed. `connection`: the connection failed and is
 * being retried. `command`: the last stop or answer was refused. `notice`: the view is incomplete, or differs from what was shown before.
 */
const KINDS = ['ended', 'connection', 'command', 'notice'] as const
type Kind = (typeof KINDS)[number]

const idle: RunStoreState = { id: undefined, status: 'idle', problem: undefined, text: '', events: [], questions: [] }

export class RunStore extends FollowingStore<RunStoreState, Kind> {
  /** The pending start. Another start, or another run, replaces it. */
  #starting: object | undefined

  constructor(client: Client, persistedId: PersistedId | undefined) {
    super({ client, empty: idle, kinds: KINDS, persistedId })
  }

  async start(request: StartRequest): Promise<void> {
    this.show(undefined)
    const starting = (this.#starting = {})
    this.set({ ...idle, status: 'starting' })
    const onProblem: OnProblem = (problem) => {
      if (this.#starting === starting) this.report({ connection: problem })
    }
    try {
      const { id } = await this.client.runs.start(request, { onProblem })
      if (this.#starting !== starting) return // another run is shown by now
      this.select(id)
    } catch (cause) {
      if (this.#starting !== starting) return
      this.show(undefined)
      this.report({ ended: asProblem(cause) })
    }
  }

  async stop(): Promise<void> {
    const { id } = this.state()
    if (id !== undefined) await this.command(() => this.client.runs.stop(id), 'command')
  }

  /** Answers the questions of a paused run. */
  async answer(answers: Answers): Promise<void> {
    const { id } = this.state()
    if (id !== undefined) await this.command(() => this.client.runs.answer(id, answers), 'command')
  }

  /** A pending start takes precedence. */
  protected override get isSelectable(): boolean {
    return this.#starting === undefined
  }

  protected override begin(id: string): RunStoreState {
    return { ...idle, id, status: 'queued' }
  }

  protected override show(id: string | undefined): void {
    this.#starting = undefined
    super.show(id)
  }

  protected override async follow(id: string, signal: AbortSignal): Promise<void> {
    let view = new RunView()
    const batches = new EventBatches<LoggedEvent>((events) => {
      view.apply(events)
      if (!signal.aborted) this.set({ ...view.state, id, problem: undefined })
    })
    const report = (problems: Problems<Kind>): void => {
      if (!signal.aborted) this.report(problems)
    }
    const showWith = (problems: Problems<Kind>): void => {
      if (!signal.aborted) this.note(problems)
      batches.flush()
    }
    const onGap: OnGap = ({ run, earliest }) => report({ notice: new GapError(run, earliest) })
    const onLogChanged: OnLogChanged = ({ run }) => {
      view = new RunView()
      batches.drop()
      showWith({ notice: new LogChangedError(run) })
    }
    const onProblem: OnProblem = (connection) => report({ connection })
    try {
      for await (const event of this.client.runs.events(id, { signal, onGap, onLogChanged, onProblem }))
        batches.add(event)
      showWith({ connection: undefined })
    } catch (cause) {
      // Shown together with the events before it, none of which clears it.
      showWith({ connection: undefined, ended: asProblem(cause) })
    }
  }
}
