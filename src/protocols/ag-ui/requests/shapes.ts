/** Validation of request bodies. Loaded lazily. */
import { z } from 'zod'
import { maybe } from '../../../http/request/body-shape.ts'
import { listOf } from '../../../http/request/list-shape.ts'

/** Maximum entries per request. A body has at most 100,000 values in any case. */
const MESSAGES_MAX = 2000
const PARTS_MAX = 1000
const TOOLS_MAX = 200
const CONTEXT_MAX = 200
const RESUME_MAX = 100
const TEXT_CHARS_MAX = 1000

const name = z.string().min(1).max(TEXT_CHARS_MAX)

const source = z.looseObject({ type: name, value: z.string(), mimeType: maybe(name) })

/** Parts are read by their `type`; unknown ones are refused when they are converted. */
const part = z.looseObject({ type: name, text: maybe(z.string()), source: maybe(source) })

const toolCall = z.looseObject({
  id: name,
  function: z.looseObject({ name, arguments: z.string() }),
})

const message = z.looseObject({
  id: name,
  role: z.enum(['user', 'assistant', 'tool', 'system', 'developer', 'reasoning', 'activity']),
  content: z.union([z.string(), listOf(part, { max: PARTS_MAX }), z.record(z.string(), z.unknown())]).nullish(),
  toolCalls: maybe(listOf(toolCall, { max: PARTS_MAX })),
  toolCallId: maybe(name),
  error: maybe(z.string()),
})

const tool = z.looseObject({
  name,
  description: maybe(z.string()),
  parameters: maybe(z.record(z.string(), z.unknown())),
})

const resume = z.looseObject({
  interruptId: name,
  status: z.enum(['resolved', 'cancelled']),
  payload: z.unknown().optional(),
})

export const runBody = z.looseObject({
  threadId: name,
  runId: name,
  messages: listOf(message, { max: MESSAGES_MAX }),
  tools: maybe(listOf(tool, { max: TOOLS_MAX })),
  context: maybe(listOf(z.looseObject({ description: z.string(), value: z.string() }), { max: CONTEXT_MAX })),
  state: z.unknown().optional(),
  forwardedProps: z.unknown().optional(),
  resume: maybe(listOf(resume, { max: RESUME_MAX })),
})

export type RunBody = z.infer<typeof runBody>
export type GivenMessage = z.infer<typeof message>
export type MessagePart = z.infer<typeof part>
export type ResumeEntry = z.infer<typeof resume>
