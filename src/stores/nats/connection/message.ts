/** A stream message, however it was read. */
import type { Msg } from '@nats-io/transport-node'
import { HoldfastError, STORE_UNAVAILABLE } from '../../../core/model/errors.ts'

export interface Message {
  readonly subject: string
  readonly seq: number
  /** Holdfast's header, as JSON. */
  readonly head: string
  readonly data: Uint8Array
}

/** Decodes a message. Throws `Mismatch` if it is not the expected one. */
export type ReadMessage<Read> = (message: Message) => Read

/** The message exists but is not the expected one. The detail says what was found. */
export class Mismatch extends HoldfastError {
  constructor(found: string) {
    super('unavailable', STORE_UNAVAILABLE, { internalMessage: found, retryAfterMs: 1000 })
  }
}

/** Name of Holdfast's only message header. */
export const HEAD = 'Holdfast'

/** As returned by the stream's leader. */
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

/** As returned by any replica; undefined: none. */
export function directMessage({ headers, data }: Msg): Message | undefined {
  const seq = Number(headers?.get('Nats-Sequence') ?? 0)
  return seq === 0 ? undefined : { subject: headers!.get('Nats-Subject'), seq, head: headers!.get(HEAD), data }
}

/** Accepts the message only if it is on this subject. */
export function onSubject(subject: string): ReadMessage<Message> {
  return (message) => {
    if (message.subject === subject) return message
    throw new Mismatch(`a message of ${message.subject} for one of ${subject}`)
  }
}
