/** Validation of request bodies. Loaded lazily. */
import { z } from 'zod'
import { maybe } from '../../../http/request/body-shape.ts'
import { listOf } from '../../../http/request/list-shape.ts'

/** Maximum entries per request. A body has at most 100,000 values in any case. */
const MESSAGES_MAX = 2000
const PARTS_MAX = 20_000
const TEXT_CHARS_MAX = 1000

const name = z.string().max(TEXT_CHARS_MAX)

/** Parts are read by their `type`. Unknown ones are ignored, because other clients may add their own. */
const part = z.looseObject({
  type: name,
  text: z.string().optional(),
  url: z.string().optional(),
  mediaType: name.optional(),
  filename: name.optional(),
  toolCallId: name.optional(),
  toolName: name.optional(),
  state: name.optional(),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  errorText: z.string().optional(),
  preliminary: maybe(z.boolean()),
  data: z.unknown().optional(),
  approval: maybe(z.looseObject({ id: name, approved: maybe(z.boolean()), reason: maybe(z.string()) })),
})

const message = z.looseObject({
  id: name.optional(),
  role: z.enum(['user', 'assistant', 'system']),
  metadata: z.unknown().optional(),
  parts: listOf(part, { max: PARTS_MAX }),
})

export const chatBody = z.looseObject({
  id: maybe(name),
  messages: listOf(message, { max: MESSAGES_MAX }).optional(),
  message: message.optional(),
  trigger: z.enum(['submit-message', 'regenerate-message']).optional(),
  messageId: maybe(name),
})

const socketHead = { requestId: z.string().min(1).max(200), id: name }

/** A frame of `WebSocketChatTransport`. `headers`, `body` and `metadata` belong to the application and are not read here. */
export const socketRequest = z.discriminatedUnion('type', [
  z.looseObject({
    ...socketHead,
    type: z.literal('send'),
    messages: listOf(message, { max: MESSAGES_MAX }),
    trigger: z.enum(['submit-message', 'regenerate-message']).optional(),
    messageId: maybe(name),
  }),
  z.looseObject({ ...socketHead, type: z.literal('resume'), lastSequence: maybe(z.int().min(0)) }),
  z.looseObject({ requestId: socketHead.requestId, type: z.literal('abort') }),
])

export type SocketRequest = z.infer<typeof socketRequest>

export const stopBody = z.looseObject({ activeStreamId: maybe(name) })

export type UiPart = z.infer<typeof part>
export type UiMessage = z.infer<typeof message>
export type ChatBody = z.infer<typeof chatBody>
