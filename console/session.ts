/** Who is looking: the key, kept for as long as the tab lives, and the client that speaks for it. */
import { type Client, createClient } from 'holdfast/client'
import { useSyncExternalStore } from 'react'
import { Wire } from './wire.ts'

const STORED = 'holdfast:key'

export interface Session {
  readonly key: string | undefined
  readonly client: Client
  /** The connections of this page. */
  readonly wire: Wire
  /** The server wants a key, or another one. */
  readonly refused: boolean
}

const listeners = new Set<() => void>()
let current = open(sessionStorage.getItem(STORED) ?? undefined)

function open(key: string | undefined): Session {
  const wire = new Wire(refuse)
  return { key, wire, refused: false, client: clientOn(wire, key) }
}

/** A client whose connections are those of a wire. Alone, it shares none with other tabs. */
export function clientOn(wire: Wire, key: string | undefined, alone = false): Client {
  return createClient({
    fetch: wire.fetch,
    retries: 1000, // a page that somebody looks at goes on trying
    ...(key !== undefined && { key }),
    ...(alone && { share: false as const }),
  })
}

function set(session: Session): void {
  current = session
  for (const listener of listeners) listener()
}

function refuse(): void {
  if (!current.refused) set({ ...current, refused: true })
}

/** Never in an address and never beyond the tab. */
export function signIn(key: string | undefined): void {
  if (key === undefined) sessionStorage.removeItem(STORED)
  else sessionStorage.setItem(STORED, key)
  set(open(key))
}

export function useSession(): Session {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => current,
  )
}
