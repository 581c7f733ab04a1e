/** `useRun`: starts, shows, stops and answers a run; a reload or another tab shows the same run. */
import { useMemo, useSyncExternalStore } from 'react'
import type { Answers, Client, ClientError, RunViewState } from '../client/index.ts'
import { persistedId } from './persisted-id.ts'
import { RunStore } from './run-store.ts'

/** Options of `useRun`. */
export interface UseRunOptions {
  /** Create it once, outside the component. */
  readonly client: Client
  /** The component that `start` runs. */
  readonly component: string
  /** Session of the runs. Default: a new session per run. */
  readonly session?: string
  /** Where the page stores the run's id: in its URL, in `localStorage`, or nowhere (`false`). Default: `url`. */
  readonly persist?: 'url' | 'localStorage' | false
  /** Name of the stored id, for pages with several runs. Default: `run`. */
  readonly name?: string
}

/** Result of `useRun`: the shown run, and its commands. */
export interface UseRunResult extends Omit<RunViewState, 'status'> {
  /** Id of the shown run, if there is one. */
  readonly id: string | undefined
  /** `idle`: no run. `starting`: requested. */
  readonly status: RunViewState['status'] | 'idle' | 'starting'
  /**
   * Why the run cannot be started, followed, stopped or answered, or that its beginning was trimmed. The run's own failure is
   * `error`. `problem.retrying` is true while the client retries; the problem disappears when the connection has recovered.
   */
  readonly problem: ClientError | undefined
  readonly start: (input: unknown) => Promise<void>
  readonly stop: () => Promise<void>
  /** Answers the questions of a paused run: `{ answer }` if there is one, `{ answers }` by id for all of several. */
  readonly answer: (answers: Answers) => Promise<void>
  /** Shows no run. The run itself continues. */
  readonly clear: () => void
}

/**
 * Starts, shows, stops and answers a run. A reload or another tab shows the same run.
 *
 * @example
 * ```tsx
 * const run = useRun({ client, component: 'storyteller' })
 * return <button onClick={() => run.start('Tell me a story.')}>{run.text || 'Start'}</button>
 * ```
 */
export function useRun({ client, component, session, persist = 'url', name = 'run' }: UseRunOptions): UseRunResult {
  const store = useMemo(() => new RunStore(client, persistedId(persist, name)), [client, persist, name])
  const state = useSyncExternalStore(store.subscribe, store.state, store.initialState)
  const commands = useMemo(
    () => ({
      start: (input: unknown) => store.start({ component, input, ...(session !== undefined && { session }) }),
      stop: () => store.stop(),
      answer: (answers: Answers) => store.answer(answers),
      clear: () => store.clear(),
    }),
    [store, component, session],
  )
  return { ...state, ...commands }
}
