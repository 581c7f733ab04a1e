/** Who is looking: the key, kept for as long as the tab lives, and the client that speaks for it. */
import { type Client, createClient } from 'holdfast/client'
import { useSyncExternalStore } from 'react'
import { Wire } from './wire.ts'

const STORED = 'holdfast:key'

export interface Session {
  readonly key: string | undefined
  /** The key is the token of a share link: there is one run to see, and nothing else. */
  readonly isShared: boolean
  readonly client: Client
  /** The connections of this page. */
  readonly wire: Wire
  /** The server wants a key, or another one. */
  readonly refused: boolean
}

const listeners = new Set<() => void>()
/** A share link brings its token behind the `#`, which no server and no log gets to see. */
const shared = /^#share=(hfs_[\w.~-]+)$/.exec(location.hash)?.[1]
let current = open(shared ?? sessionStorage.getItem(STORED) ?? undefined, shared !== undefined)

function open(key: string | undefined, isShared = false): Session {
  const wire = new Wire(refuse)
  return { key, isShared, wire, refused: false, client: clientOn(wire, key) }
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
