/** The user's session: the key, stored in this tab only, and the client that uses it. */
import { type Client, createClient } from 'holdfast/client'
import { useSyncExternalStore } from 'react'
import { serverUrl } from './mount-point.ts'
import { FaultyConnection } from './faulty-connection.ts'

const STORED = 'holdfast:key'

export interface Session {
  readonly key: string | undefined
  /** The key is a share link's token: it gives access to one run only. */
  readonly isShared: boolean
  readonly client: Client
  /** The connections of this page. */
  readonly connection: FaultyConnection
  /** The server requires a key, or another one. */
  readonly refused: boolean
}

const listeners = new Set<() => void>()
/** A share link has its token in the fragment, which servers and logs never see. */
const shared = /^#share=(hfs_[\w.~-]+)$/.exec(location.hash)?.[1]
let current = open(shared ?? sessionStorage.getItem(STORED) ?? undefined, shared !== undefined)

function open(key: string | undefined, isShared = false): Session {
  const connection = new FaultyConnection(refuse)
  return { key, isShared, connection, refused: false, client: clientOn(connection, key) }
}

/** A client on a connection's connections. `alone`: shares none with other tabs. */
export function clientOn(connection: FaultyConnection, key: string | undefined, alone = false): Client {
  return createClient({
    url: serverUrl,
    fetch: connection.fetch,
    retries: 1000, // a visible page keeps retrying
    ...(key !== undefined && { key }),
    ...(alone && { shareConnections: false }),
  })
}

function set(session: Session): void {
  current = session
  for (const listener of listeners) listener()
}

function refuse(): void {
  if (!current.refused) set({ ...current, refused: true })
}

/** Never in a URL, and never beyond the tab. */
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
