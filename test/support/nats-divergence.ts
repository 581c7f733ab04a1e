/** A store whose servers return wrong messages, like diverged replicas. */
import * as nats from '@nats-io/transport-node'
import { onTestFinished } from 'vitest'
import type { Logger } from '../../src/core/ports/logger.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { Alarms } from '../../src/stores/nats/alarms.ts'
import { Link } from '../../src/stores/nats/link.ts'
import { setUp } from '../../src/stores/nats/setup.ts'
import { NatsStore } from '../../src/stores/nats/store.ts'

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
  const rewrite = (subject: string, data: Uint8Array | string | undefined): Uint8Array | string | undefined => {
    const isRead = /\.DIRECT\.GET\./.test(subject) || (isLeader && /\.STREAM\.MSG\.GET\./.test(subject))
    if (divert === undefined || !isRead || data === undefined) return data
    const query = JSON.parse(Buffer.from(data as Uint8Array).toString()) as { seq?: number }
    const other = query.seq === undefined ? undefined : divert(query.seq)
    return other === undefined ? data : Buffer.from(JSON.stringify({ seq: other }))
  }
  const diverted = {
    ...nats,
    connect: async (options?: nats.NodeConnectionOptions) => {
      const connection = await nats.connect(options)
      const publish = connection.publish.bind(connection)
      connection.publish = (subject, data, more) => publish(subject, rewrite(subject, data), more)
      return connection
    },
  }
  const alarms = new Alarms(logger)
  const link = await Link.open(diverted, {
    servers: [address],
    requestTimeoutMs: 2000,
    onDiverged: (stream, reason) => alarms.diverged(stream, reason),
    onUnfit: () => {},
  })
  const { layout } = await setUp(link, { name, partitions: 1 })
  const store = await NatsStore.open({
    link,
    layout,
    isReplicated: false,
    outageTimeoutMs: 5000,
    now: () => Date.now(),
    alarms,
  })
  onTestFinished(() => store.close())
  return {
    store,
    logged,
    divert: (next, leader) => {
      divert = next
      isLeader = leader === 'leader'
    },
  }
}
