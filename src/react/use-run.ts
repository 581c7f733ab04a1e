/** `useRun`: start a run, show it as it goes, stop it, answer it; a reload and another tab show the same. */
import { useMemo, useSyncExternalStore } from 'react'
import type { Client } from '../client/index.ts'
import { keptInStorage, keptInUrl } from './persisted-id.ts'
import { RunStore, type ShownRun } from './run-store.ts'

export interface UseRunOptions {
  /** Make it once, outside of the component. */
  readonly client: Client
  /** The component that `start` runs. */
  readonly component: string
  readonly session?: string
  /** Where the page keeps the run's id: in its URL, in the browser's storage, or nowhere. Default: `url`. */
  readonly keep?: 'url' | 'storage' | 'nowhere'
  /** Name under which it is kept, for pages with several runs. Default: `run`. */
  readonly name?: string
}

export interface RunState extends ShownRun {
  readonly start: (input: unknown) => Promise<void>
  readonly stop: () => Promise<void>
  /** Answers the question of a paused run; where it asks several, the one with this id. */
  readonly answer: (answer: unknown, question?: string) => Promise<void>
  /** Shows no run any more. The run goes on. */
  readonly clear: () => void
}

export function useRun({ client, component, session, keep = 'url', name = 'run' }: UseRunOptions): RunState {
  const show = useMemo(() => {
    const kept = { url: keptInUrl, storage: keptInStorage, nowhere: () => undefined }[keep](name)
    return new RunStore(client, kept)
  }, [client, keep, name])
  const shown = useSyncExternalStore(show.subscribe, show.state, show.initialState)
  const commands = useMemo(
    () => ({
      start: (input: unknown) => show.start({ component, input, ...(session !== undefined && { session }) }),
      stop: () => show.stop(),
      answer: (answer: unknown, question?: string) => show.answer(answer, question),
      clear: () => show.clear(),
    }),
    [show, component, session],
  )
  return { ...shown, ...commands }
}
