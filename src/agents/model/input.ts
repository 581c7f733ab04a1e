/** Converts a run's input to model messages. */
import type { FilePart } from 'ai'
import type { JsonSchema } from '../../core/ports/schema.ts'
import type { CallerOptions } from '../../core/model/caller-options.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { fromCheck } from '../../core/schema/json-schema.ts'
import { callerOptionsOf } from './caller-options.ts'
import type { ModelMessage } from './sdk-types.ts'

/** A string, a string with files, a conversation, or any other JSON value, which the model gets as JSON. */
export type ModelInput =
  | string
  | { readonly text: string; readonly files?: readonly InputFile[] }
  | { readonly messages: readonly ModelMessage[]; readonly caller?: CallerOptions; readonly continues?: boolean }

/** A file in the input of a model agent, inline or by URL. */
export interface InputFile {
  /** Such as `image/png`, or `image` if unknown. */
  readonly mediaType: string
  /** Base64. */
  readonly data?: string
  readonly url?: string
  readonly name?: string
}

/** For forms: text first. */
const JSON_SCHEMA: JsonSchema = {
  anyOf: [
    { type: 'string', title: 'Input' },
    {
      type: 'object',
      properties: {
        text: { type: 'string' },
        files: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              mediaType: { type: 'string' },
              data: { type: 'string', contentEncoding: 'base64' },
              url: { type: 'string', format: 'uri' },
              name: { type: 'string' },
            },
            required: ['mediaType'],
          },
        },
      },
      required: ['text'],
    },
    { type: 'object', properties: { messages: { type: 'array', minItems: 1 } }, required: ['messages'] },
  ],
}

/** What a model agent accepts. It returns the input unchanged. */
export const modelInput = fromCheck<ModelInput>((input) => {
  messagesOf(input)
  callerOptionsOf(input)
  return input as ModelInput
}, JSON_SCHEMA)

export function messagesOf(input: unknown): ModelMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  if (typeof input !== 'object' || input === null) {
    if (input === null || input === undefined) throw refusal('the agent needs an input: a string, or `{ "text": … }`')
    return [{ role: 'user', content: JSON.stringify(input) }]
  }
  if ('messages' in input) return conversationOf(input.messages)
  if ('text' in input && typeof input.text === 'string')
    return [userMessage(input.text, 'files' in input ? input.files : undefined)]
  return [{ role: 'user', content: JSON.stringify(input) }]
}

function userMessage(text: string, files: unknown): ModelMessage {
  if (files === undefined) return { role: 'user', content: text }
  if (!Array.isArray(files)) throw refusal('`files` is not a list')
  return { role: 'user', content: [{ type: 'text', text }, ...files.map(filePart)] }
}

function filePart(file: Partial<InputFile> | null, position: number): FilePart {
  const { mediaType, data, url, name } = file ?? {}
  if (typeof mediaType !== 'string' || (typeof data === 'string') === (typeof url === 'string'))
    throw refusal(`\`files[${position}]\` needs a \`mediaType\`, and \`data\` (base64) or a \`url\``)
  if (typeof url === 'string' && !URL.canParse(url)) throw refusal(`\`files[${position}].url\` is not a valid URL`)
  const content =
    url === undefined ? ({ type: 'data', data: data! } as const) : { type: 'url' as const, url: new URL(url) }
  return { type: 'file', mediaType, data: content, ...(typeof name === 'string' && { filename: name }) }
}

/** Checks only what a caller must not send; the SDK validates the rest later. */
function conversationOf(messages: unknown): ModelMessage[] {
  if (!Array.isArray(messages) || messages.length === 0) throw refusal('`messages` is not a list of messages')
  for (const [position, message] of messages.entries()) {
    const { role, content } = (message ?? {}) as { role?: unknown; content?: unknown }
    if (role === 'system')
      throw refusal(`\`messages[${position}]\`: system messages are not accepted; only the agent defines instructions`)
    if (role !== 'user' && role !== 'assistant' && role !== 'tool')
      throw refusal(`\`messages[${position}].role\` is not user, assistant or tool`)
    if (typeof content !== 'string' && !Array.isArray(content))
      throw refusal(`\`messages[${position}].content\` is neither a string nor a list of parts`)
  }
  return messages as ModelMessage[]
}

function refusal(message: string): HoldfastError {
  return new HoldfastError('invalid_request', message)
}
