/** The server's components, requested once. */
import type { ComponentInfo } from 'holdfast/client'
import { useEffect, useState } from 'react'
import { type Session, useSession } from './session.ts'

const known = new WeakMap<Session['client'], Promise<readonly ComponentInfo[]>>()

export interface KnownComponents {
  readonly components?: readonly ComponentInfo[]
  readonly problem?: unknown
}

export function useComponents(): KnownComponents {
  const { client } = useSession()
  const [found, setFound] = useState<KnownComponents>({})
  useEffect(() => {
    let left = false
    let asking = known.get(client)
    if (asking === undefined) known.set(client, (asking = client.components.list()))
    asking.then(
      (components) => left || setFound({ components }),
      (problem: unknown) => {
        known.delete(client)
        if (!left) setFound({ problem })
      },
    )
    return () => void (left = true)
  }, [client])
  return found
}
