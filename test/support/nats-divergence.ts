/** A store whose servers return wrong messages, like diverged replicas. */
import type { Logger } from '../../src/core/ports/logger.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { openTampered } from './nats-tampered.ts'

/** Maps a requested sequence to the returned one; undefined leaves it unchanged. */
export type Divert = (seq: number) => number | undefined

export interface Diverging {
  readonly store: Store
  readonly logged: { readonly level: string; readonly fields: object; readonly message: string }[]
  /** Sets what replicas return; with `leader`, the leader too. */
  readonly divert: (divert: Divert | undefined, leader?: 'leader') => void
}

export async function openDiverging(address: string, name: string): Promise<Diverging> {
  const logged: { level: string; fields: object; message: string }[] = []
  const note = (level: string) => (fields: object, message: string) => void logged.push({ level, fields, message })
  const logger: Logger = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') }
  let divert: Divert | undefined
  let isLeader = false
  const store = await openTampered(address, {
    name,
    logger,
    tamper: (subject, data) => {
      const isRead = /\.DIRECT\.GET\./.test(subject) || (isLeader && /\.STREAM\.MSG\.GET\./.test(subject))
      if (divert === undefined || !isRead || data === undefined) return data
      const query = JSON.parse(Buffer.from(data as Uint8Array).toString()) as { seq?: number }
      const other = query.seq === undefined ? undefined : divert(query.seq)
      return other === undefined ? data : Buffer.from(JSON.stringify({ seq: other }))
    },
  })
  return {
    store,
    logged,
    divert: (next, leader) => {
      divert = next
      isLeader = leader === 'leader'
    },
  }
}
