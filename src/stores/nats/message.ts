/** A message of a stream, by whichever way it was read. */
import type { Msg } from '@nats-io/transport-node'
import { HoldfastError, STORE_UNAVAILABLE } from '../../core/model/errors.ts'

export interface Message {
  readonly subject: string
  readonly seq: number
  /** What Holdfast says about it, as JSON. */
  readonly head: string
  readonly data: Uint8Array
}

/** Takes a message apart. Throws `Mismatch` for one that is not what was asked for. */
export type ReadMessage<Read> = (message: Message) => Read

/** A message is there, and it is another one than was asked for. Its detail says what was found. */
export class Mismatch extends HoldfastError {
  constructor(found: string) {
    super('unavailable', STORE_UNAVAILABLE, { detail: found, retryAfterMs: 1000 })
  }
}

/** The one header of a message that is ours. */
export const HEAD = 'Holdfast'

/** As the leader of a stream tells it. */
export interface RawMessage {
  readonly subject: string
  readonly seq: number
  readonly hdrs?: string
  readonly data?: string
}

export function messageFrom({ subject, seq, hdrs = '', data = '' }: RawMessage): Message {
  const [, head = ''] = /\r\nHoldfast: (.*)\r\n/.exec(Buffer.from(hdrs, 'base64').toString()) ?? []
  return { subject, seq, head, data: Buffer.from(data, 'base64') }
}

/** As any replica tells it; undefined where it has none. */
export function directMessage({ headers, data }: Msg): Message | undefined {
  const seq = Number(headers?.get('Nats-Sequence') ?? 0)
  return seq === 0 ? undefined : { subject: headers!.get('Nats-Subject'), seq, head: headers!.get(HEAD), data }
}

/** The message itself, where it is on the subject that was asked for. */
export function onSubject(subject: string): ReadMessage<Message> {
  return (message) => {
    if (message.subject === subject) return message
    throw new Mismatch(`a message of ${message.subject} for one of ${subject}`)
  }
}
