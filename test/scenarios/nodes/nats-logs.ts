/** Reads logs of runs from the streams of a NATS cluster, without code of the store. */
import { setTimeout as wait } from 'node:timers/promises'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { NatsServer } from '../../support/nats.ts'

export const PARTITIONS = 4

/** Fields of a message header: run, bytes before the records, location of large content, and a mark that there is no such run. */
interface Header {
  readonly i?: string
  readonly db?: number
  readonly x?: readonly [name: string, count: number]
  readonly z?: string
}

interface Message {
  readonly header: Header
  readonly data: Buffer
}

/** In the order of their messages, by the leaders of the streams: a replica may still be catching up. */
export async function readNatsLogs(servers: readonly NatsServer[]): Promise<Map<string, Buffer>> {
  const connection = await connect({ servers: servers.map(({ address }) => address) })
  const pieces = new Map<string, Buffer[]>()
  for (let partition = 0; partition < PARTITIONS; partition++) {
    for (const { header, data } of await messagesOf(connection, `holdfast-log-${partition}`)) {
      const { i: id, db: start = 0, x: parts, z: gone } = header
      if (id === undefined || gone !== undefined) continue
      const content = parts === undefined ? data : await partsOf(connection, partition, id, parts)
      pieces.set(id, [...(pieces.get(id) ?? []), content.subarray(start)])
    }
  }
  await connection.close()
  return new Map([...pieces].map(([id, found]) => [id, Buffer.concat(found)]))
}

async function messagesOf(connection: NatsConnection, stream: string): Promise<Message[]> {
  const { state } = await settledStream(connection, stream)
  const messages: Message[] = []
  for (let seq = 1; seq <= state.last_seq; seq += 100) {
    const count = Math.min(100, state.last_seq - seq + 1)
    const batch = Array.from({ length: count }, (_, at) => get(connection, stream, { seq: seq + at }))
    messages.push(...(await Promise.all(batch)).flatMap((message) => message ?? []))
  }
  if (messages.length !== state.messages)
    throw new Error(`${stream} has ${state.messages} messages, and ${messages.length} could be read`)
  return messages
}

interface StreamInfo {
  readonly state: { readonly last_seq: number; readonly messages: number }
  readonly cluster?: { readonly replicas?: readonly { readonly current: boolean; readonly lag?: number }[] }
}

/** Waits until all replicas agree: right after a fault, a server that was cut off may still answer as the leader that it was. */
async function settledStream(connection: NatsConnection, stream: string): Promise<StreamInfo> {
  for (let attempt = 1; ; attempt++) {
    const info = await ask<StreamInfo>(connection, `STREAM.INFO.${stream}`, {})
    const replicas = info.cluster?.replicas ?? []
    if (replicas.every(({ current, lag = 0 }) => current && lag === 0)) return info
    if (attempt === SETTLE_ATTEMPTS) throw new Error(`${stream} did not settle: ${JSON.stringify(replicas)}`)
    await wait(RETRY_MS)
  }
}

async function partsOf(
  connection: NatsConnection,
  partition: number,
  id: string,
  [name, count]: readonly [string, number],
): Promise<Buffer> {
  const parts = Array.from({ length: count }, (_, number) => {
    const subject = `holdfast.state.${partition}.part.${id}.${name}.${number}`
    return get(connection, `holdfast-state-${partition}`, { last_by_subj: subject })
  })
  return Buffer.concat((await Promise.all(parts)).map((part) => part!.data))
}

/** Undefined for a message that was removed. */
async function get(connection: NatsConnection, stream: string, query: object): Promise<Message | undefined> {
  const { message } = await ask<{ message?: { hdrs?: string; data?: string } }>(
    connection,
    `STREAM.MSG.GET.${stream}`,
    query,
  )
  if (message === undefined) return undefined
  const text = Buffer.from(message.hdrs ?? '', 'base64').toString()
  const [, header = '{}'] = /^Holdfast: (.*)$/m.exec(text) ?? []
  return { header: JSON.parse(header) as Header, data: Buffer.from(message.data ?? '', 'base64') }
}

/**
 * A request that meets no leader is not answered, or with an error, so it is sent again: a stream may have none for a moment after a
 * fault. Only "no message found" is an answer.
 */
async function ask<Answer>(connection: NatsConnection, what: string, body: object): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await connection.request(`$JS.API.${what}`, JSON.stringify(body), { timeout: ANSWER_MS })
      const { error, ...found } = answer.json<Answer & { error?: { err_code: number; description: string } }>()
      if (error !== undefined && error.err_code !== NO_MESSAGE_FOUND) throw new Error(`${what}: ${error.description}`)
      return found as Answer
    } catch (cause) {
      if (attempt === ATTEMPTS) throw cause
      await wait(RETRY_MS)
    }
  }
}

const ANSWER_MS = 10_000
const RETRY_MS = 500
const ATTEMPTS = 12
const SETTLE_ATTEMPTS = 120
const NO_MESSAGE_FOUND = 10037
