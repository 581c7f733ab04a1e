/** `useSession`: shows a conversation live with its earlier messages, and continues it; a reload or another tab shows the same one. */
import { useMemo, useSyncExternalStore } from 'react'
import type { Answers, Client } from '../client/index.ts'
import { persistedId } from './persisted-id.ts'
import { SessionStore, type SessionStoreState } from './session-store.ts'

/** Options of `useSession`. */
export interface UseSessionOptions {
  /** Create it once, outside the component. */
  readonly client: Client
  /** The component that `send` runs. */
  readonly component: string
  /** Where the page stores the session's id: in its URL, in `localStorage`, or nowhere (`false`). Default: `url`. */
  readonly persist?: 'url' | 'localStorage' | false
  /** Name of the stored id, for pages with several sessions. Default: `session`. */
  readonly name?: string
}

/** Result of `useSession`: the shown session, and its commands. */
export interface UseSessionResult extends SessionStoreState {
  /** Starts a run in the session, or in a new session if there is none. */
  readonly send: (input: unknown) => Promise<void>
  /** Stops all runs of the session that have not ended. */
  readonly stop: () => Promise<void>
  /** Answers the questions of a paused run: `{ answer }` to the run that asked last, `{ answers }` by id. */
  readonly answer: (answers: Answers) => Promise<void>
  /** Shows no session. Its runs continue. */
  readonly clear: () => void
}

/**
 * Shows a conversation live with its earlier messages, and continues it. A reload or another tab shows the same one.
 *
 * @example
 * ```tsx
 * const session = useSession({ client, component: 'assistant' })
 * return <Chat messages={session.messages} onSend={session.send} />
 * ```
 */
export function useSession({
  client,
  component,
  persist = 'url',
  name = 'session',
}: UseSessionOptions): UseSessionResult {
  const store = useMemo(() => new SessionStore(client, persistedId(persist, name)), [client, persist, name])
  const state = useSyncExternalStore(store.subscribe, store.state, store.initialState)
  const commands = useMemo(
    () => ({
      send: (input: unknown) => store.send(component, input),
      stop: () => store.stop(),
      answer: (answers: Answers) => store.answer(answers),
      clear: () => store.clear(),
    }),
    [store, component],
  )
  return { ...state, ...commands }
}
