/** Request schema of chat completions. Unknown fields are ignored, because OpenAI adds new ones often. */
import { z } from 'zod'
import { listOf } from '../../../http/request/list-shape.ts'
import { maxList, maybe, metadataShape, schemaShape } from '../wire/shapes.ts'

const textPart = z.looseObject({ type: z.literal('text'), text: z.string() })
const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() })

const userPart = z.discriminatedUnion('type', [
  textPart,
  z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: z.string() }) }),
  z.looseObject({
    type: z.literal('input_audio'),
    input_audio: z.looseObject({ data: z.string(), format: z.enum(['wav', 'mp3']) }),
  }),
  z.looseObject({
    type: z.literal('file'),
    file: z.looseObject({ file_data: maybe(z.string()), filename: maybe(z.string()) }),
  }),
])

const text = z.union([z.string(), listOf(textPart, maxList.parts)])

const toolCall = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
})

const message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content: text }),
  z.looseObject({ role: z.literal('developer'), content: text }),
  z.looseObject({
    role: z.literal('user'),
    content: z.union([z.string(), listOf(userPart, { min: 1, ...maxList.parts })]),
  }),
  z.looseObject({
    role: z.literal('assistant'),
    content: maybe(z.union([z.string(), listOf(z.discriminatedUnion('type', [textPart, refusalPart]), maxList.parts)])),
    tool_calls: maybe(listOf(toolCall, maxList.toolCalls)),
  }),
  z.looseObject({ role: z.literal('tool'), content: text, tool_call_id: z.string() }),
])

export type ChatMessage = z.infer<typeof message>

const number = maybe(z.number())

export const completionBody = z.looseObject({
  model: z.string(),
  messages: listOf(message, { min: 1, ...maxList.messages }),
  stream: maybe(z.boolean()),
  stream_options: maybe(z.looseObject({ include_usage: maybe(z.boolean()) })),
  n: maybe(z.int()),
  tools: maybe(
    listOf(
      z.looseObject({
        type: z.literal('function'),
        function: z.looseObject({
          name: z.string().min(1),
          description: maybe(z.string()),
          parameters: maybe(schemaShape),
        }),
      }),
      maxList.tools,
    ),
  ),
  tool_choice: maybe(
    z.union([
      z.enum(['auto', 'none', 'required']),
      z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) }),
    ]),
  ),
  response_format: maybe(
    z.discriminatedUnion('type', [
      z.looseObject({ type: z.literal('text') }),
      z.looseObject({ type: z.literal('json_object') }),
      z.looseObject({ type: z.literal('json_schema'), json_schema: z.looseObject({ schema: maybe(schemaShape) }) }),
    ]),
  ),
  user: maybe(z.string()),
  metadata: maybe(metadataShape),
  store: maybe(z.boolean()),
  temperature: number,
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  max_tokens: maybe(z.int().positive()),
  max_completion_tokens: maybe(z.int().positive()),
  seed: maybe(z.int()),
  stop: maybe(z.union([z.string(), listOf(z.string(), maxList.parts)])),
})

export type CompletionBody = z.infer<typeof completionBody>
