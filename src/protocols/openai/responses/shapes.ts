/** Request schema of responses. Unknown fields are ignored, because OpenAI adds new ones often. */
import { z } from 'zod'
import { listOf } from '../../../http/request/list-shape.ts'
import { maxList, maybe, metadataShape, schemaShape } from '../wire/shapes.ts'

const textPart = z.looseObject({ type: z.enum(['input_text', 'output_text', 'text']), text: z.string() })

const part = z.discriminatedUnion('type', [
  textPart,
  z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
  z.looseObject({ type: z.literal('input_image'), image_url: maybe(z.string()) }),
  z.looseObject({
    type: z.literal('input_file'),
    file_data: maybe(z.string()),
    file_url: maybe(z.string()),
    filename: maybe(z.string()),
  }),
])

const message = z.looseObject({
  type: z.literal('message').optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([z.string(), listOf(part, maxList.parts)]),
})

const functionCall = z.looseObject({
  type: z.literal('function_call'),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
})

const functionCallOutput = z.looseObject({
  type: z.literal('function_call_output'),
  call_id: z.string(),
  output: z.union([z.string(), listOf(part, maxList.parts)]),
})

const itemReference = z.looseObject({ type: z.literal('item_reference').nullish(), id: z.string() })

/** Output items that callers send back but that components do not use. */
const aside = z.looseObject({
  type: z.enum([
    'reasoning',
    'mcp_call',
    'mcp_list_tools',
    'mcp_approval_request',
    'web_search_call',
    'file_search_call',
    'code_interpreter_call',
    'image_generation_call',
  ]),
})

/** Made by `POST /v1/responses/compact`. */
const compaction = z.looseObject({ type: z.literal('compaction'), encrypted_content: z.string() })

export const item = z.union([message, functionCall, functionCallOutput, compaction, aside, itemReference])

export type InputItem = z.infer<typeof item>
export type InputPart = z.infer<typeof part>

const itemList = listOf(item, maxList.messages)

const tool = z.looseObject({
  type: z.string(),
  name: maybe(z.string()),
  description: maybe(z.string()),
  parameters: maybe(schemaShape),
})

export const responseBody = z.looseObject({
  model: z.string(),
  input: maybe(z.union([z.string(), itemList])),
  instructions: maybe(z.string()),
  stream: maybe(z.boolean()),
  background: maybe(z.boolean()),
  store: maybe(z.boolean()),
  previous_response_id: maybe(z.string()),
  conversation: maybe(z.union([z.string().min(1), z.looseObject({ id: z.string().min(1) })])),
  metadata: maybe(metadataShape),
  user: maybe(z.string()),
  tools: maybe(listOf(tool, maxList.tools)),
  tool_choice: maybe(z.union([z.enum(['auto', 'none', 'required']), z.looseObject({ type: z.string() })])),
  text: maybe(
    z.looseObject({
      format: maybe(
        z.looseObject({
          type: z.enum(['text', 'json_object', 'json_schema']),
          name: maybe(z.string()),
          schema: maybe(schemaShape),
        }),
      ),
    }),
  ),
  temperature: maybe(z.number()),
  top_p: maybe(z.number()),
  max_output_tokens: maybe(z.int().positive()),
})

export type ResponseBody = z.infer<typeof responseBody>

export const compactBody = z.looseObject({
  model: z.string(),
  input: maybe(z.union([z.string(), itemList])),
  previous_response_id: maybe(z.string()),
  instructions: maybe(z.string()),
})

export type CompactBody = z.infer<typeof compactBody>
