/** External store behind `useSession`: follows a session's runs, and starts, stops and answers them. */
import {
  type Answers,
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
import { EventBatches } from './event-batches.ts'
import { asProblem, FollowingStore, type Problems } from './following-store.ts'
import type { PersistedId } from './persisted-id.ts'

/** The session that `useSession` shows. */
export interface SessionStoreState {
  /** Id of the shown session, if there is one. */
  readonly id: string | undefined
  /** Oldest first: the input of each run, and its output so far. */
  readonly messages: readonly SessionMessage[]
  /** A run is being started, or has not ended. */
  readonly isBusy: boolean
  /**
   * Why a run cannot be started, stopped or answered, why the session cannot be followed, or that events were trimmed. A run's own
   * failure is in its message. `problem.retrying` is true while the client retries.
   */
  readonly problem: ClientError | undefined
}

/** States of a run that has not ended. */
const OPEN: ReadonlySet<AssistantMessage['status']> = new Set(['queued', 'running', 'paused'] as const)

const empty: SessionStoreState = { id: undefined, messages: [], isBusy: false, problem: undefined }

/** Kinds of problems, most important first. */
const KINDS = ['followed', 'started', 'connection', 'command', 'notice'] as const
type Kind = (typeof KINDS)[number]

export class SessionStore extends FollowingStore<SessionStoreState, Kind> {
  #starting = 0

  constructor(client: Client, persistedId: PersistedId | undefined) {
    super({ client, empty, kinds: KINDS, persistedId })
  }

  /** Starts a run in the session, or in a new one. */
  async send(component: string, input: unknown): Promise<void> {
    const session = this.state().id ?? newSession()
    // Before the run exists: a reload meanwhile shows the session, and the run once it has started.
    if (this.state().id === undefined) this.select(session)
    const report = (problems: Problems<Kind>): void => {
      if (this.state().id === session) this.report(problems)
    }
    this.#starting++
    report({ started: undefined, connection: undefined })
    try {
      const onProblem: OnProblem = (connection) => report({ connection })
      await this.client.runs.start({ component, input, session }, { onProblem })
    } catch (cause) {
      report({ started: asProblem(cause) })
    } finally {
      this.#starting--
      report({})
    }
  }

  /** Stops all runs of the session that have not ended. */
  async stop(): Promise<void> {
    const runs = unfinishedIn(this.state().messages)
    await this.command(() => Promise.all(runs.map(({ run }) => this.client.runs.stop(run))), 'command')
  }

  /** Answers the questions of a paused run: the one that asks these questions, or the one that asked last. */
  async answer(answers: Answers): Promise<void> {
    const isAnswered = (id: string): boolean => !('answers' in answers) || Object.hasOwn(answers.answers, id)
    const paused = unfinishedIn(this.state().messages).findLast(({ questions }) =>
      questions.some(({ id }) => isAnswered(id)),
    )
    if (paused === undefined) return
    await this.command(() => this.client.runs.answer(paused.run, answers), 'command')
  }

  protected override begin(id: string): SessionStoreState {
    return { ...empty, id }
  }

  protected override complete(state: SessionStoreState): SessionStoreState {
    return { ...state, isBusy: this.#starting > 0 || unfinishedIn(state.messages).length > 0 }
  }

  protected override async follow(id: string, signal: AbortSignal): Promise<void> {
    const view = new SessionView()
    const batches = new EventBatches<LoggedEvent>((events) => {
      view.apply(events)
      if (!signal.aborted) this.set({ ...this.state(), messages: view.messages })
    })
    const report = (problems: Problems<Kind>): void => {
      if (!signal.aborted) this.report(problems)
    }
    const onGap: OnGap = ({ run, earliest }) => report({ notice: new GapError(run, earliest) })
    const onProblem: OnProblem = (connection) => report({ connection })
    try {
      for await (const event of this.client.sessions.follow(id, { signal, onGap, onProblem })) batches.add(event)
    } catch (cause) {
      if (!signal.aborted) this.note({ connection: undefined, followed: asProblem(cause) })
      batches.flush()
    }
  }
}

/** Messages of runs that have not ended. */
function unfinishedIn(messages: readonly SessionMessage[]): AssistantMessage[] {
  return messages.filter(
    (message): message is AssistantMessage => message.role === 'assistant' && OPEN.has(message.status),
  )
}

function newSession(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return `session_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
