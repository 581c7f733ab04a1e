/** Decodes JetStream replies. */
import type { Msg } from '@nats-io/transport-node'
import { JetStreamError, DUPLICATE } from './failures.ts'
import { type Message, messageFrom, type RawMessage } from './message.ts'

/** Undefined if there is no such message. */
export function messageIn(reply: Msg): Message | undefined {
  try {
    return messageFrom((bodyOf(reply) as { message: RawMessage }).message)
  } catch (cause) {
    if (cause instanceof JetStreamError && cause.isNoMessage) return undefined
    throw cause
  }
}

/** Throws if the message was not accepted because another one took its sequence. */
export function seqOf(reply: Msg): number {
  const { seq, duplicate = false } = bodyOf(reply) as { seq: number; duplicate?: boolean }
  if (duplicate)
    throw new JetStreamError({ code: 400, err_code: DUPLICATE, description: 'another message took this sequence' })
  return seq
}

/** The reply as JSON; throws if it is an error. */
export function bodyOf(reply: Msg): unknown {
  const body = reply.json<{ error?: { code: number; err_code?: number; description?: string } }>()
  if (body.error !== undefined) throw new JetStreamError(body.error)
  return body
}
