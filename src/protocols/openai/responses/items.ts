/** Converts response input items to a conversation, and back. */
import type { CallerOptions } from '../../../core/model/caller-options.ts'
import type { CallerResult } from '../requests/caller-results.ts'
import { refusal, unsupported } from '../wire/errors.ts'
import { type Part, toItemId } from '../wire/ids.ts'
import type { ContentPart, Conversation, Message } from '../../../core/schema/conversation.ts'
import { callerOptionsOf, callInput, filePart, imagePart, plainText, settingsOf } from '../requests/input.ts'
import { openCompaction } from './compaction.ts'
import type { InputItem, InputPart, ResponseBody } from './shapes.ts'
import type { OutputItem } from './state.ts'

/** Resolves an `item_reference`. */
export type ItemLookup = (id: string) => Promise<OutputItem>

export async function toConversation(body: ResponseBody, lookUp: ItemLookup): Promise<Conversation> {
  const { input = [], instructions } = body
  const items = typeof input === 'string' ? [userText(input)] : await resolveReferences(input, lookUp)
  const system = items.flatMap((item) => (isInstruction(item) ? [plainText(item.content)] : []))
  const instructionTexts = [...(instructions === undefined ? [] : [instructions]), ...system]
  return {
    messages: messagesIn(items),
    caller: callerOptionsOf({
      instructions: instructionTexts.length === 0 ? undefined : instructionTexts.join('\n\n'),
      tools: toolsIn(body.tools),
      toolChoice: choiceOf(body.tool_choice),
      output: outputOf(body.text?.format),
      settings: settingsOf({
        temperature: body.temperature,
        topP: body.top_p,
        maxOutputTokens: body.max_output_tokens,
      }),
    }),
  }
}

/** Items outside of runs, as messages. */
export async function messagesFrom(items: readonly InputItem[], lookUp: ItemLookup): Promise<Message[]> {
  return messagesIn(await resolveReferences(items, lookUp))
}

function userText(text: string): InputItem {
  return { role: 'user', content: text }
}

type MessageInput = Extract<InputItem, { role: string }>

function isMessage(item: InputItem): item is MessageInput {
  return 'role' in item
}

function isInstruction(item: InputItem): item is MessageInput {
  return isMessage(item) && (item.role === 'system' || item.role === 'developer')
}

function isReference(item: InputItem): item is Extract<InputItem, { id: string }> {
  return !isMessage(item) && (item.type === 'item_reference' || item.type === undefined || item.type === null)
}

/** Replaces references by their items. */
function resolveReferences(items: readonly InputItem[], lookUp: ItemLookup): Promise<InputItem[]> {
  return Promise.all(items.map(async (item) => (isReference(item) ? toInput(await lookUp(item.id)) : item)))
}

function toInput(item: OutputItem): InputItem {
  if (item.type !== 'message') return item
  return { type: 'message', role: 'assistant', content: item.content as InputPart[] }
}

function toolsIn(tools: ResponseBody['tools']): CallerOptions['tools'] {
  return tools?.map(({ type, name, description, parameters }, position) => {
    const param = `tools.${position}`
    if (type !== 'function')
      throw unsupported(
        `tools of type ${type} belong to the component; only function tools are supported in requests`,
        `${param}.type`,
      )
    if (name === undefined || name === '') throw refusal(`${param}.name is missing`, { param: `${param}.name` })
    return {
      name,
      ...(description !== undefined && { description }),
      ...(parameters !== undefined && { parameters }),
    }
  })
}

function choiceOf(choice: ResponseBody['tool_choice']): CallerOptions['toolChoice'] {
  if (typeof choice !== 'object') return choice
  const { name } = choice as { name?: unknown }
  return typeof name === 'string' ? { tool: name } : undefined
}

function outputOf(format: NonNullable<ResponseBody['text']>['format']): CallerOptions['output'] {
  if (format?.type === 'json_object') return { type: 'object' }
  return format?.type === 'json_schema' ? (format.schema ?? { type: 'object' }) : undefined
}

function isResult(item: InputItem): boolean {
  return 'type' in item && item.type === 'function_call_output'
}

/** Trailing tool results, if any. */
export function resultsIn(input: ResponseBody['input']): readonly CallerResult[] {
  if (input === undefined || typeof input === 'string') return []
  const since = input.slice(input.findLastIndex((item) => !isResult(item)) + 1)
  return since.map((item) => {
    const { call_id: callId, output } = item as Extract<InputItem, { type: 'function_call_output' }>
    return { callId, output: plainText(output) }
  })
}

function messagesIn(items: readonly InputItem[]): Message[] {
  const names = new Map<string, string>()
  return items.flatMap((item, position): Message[] => {
    if (isMessage(item)) return isInstruction(item) ? [] : [toMessage(item, `input.${position}.content`)]
    if (item.type === 'function_call') {
      const { call_id: toolCallId, name: toolName, arguments: given } = item
      names.set(toolCallId, toolName)
      const input = callInput(given)
      return [{ role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName, input }] }]
    }
    if (item.type === 'compaction') return [...openCompaction(item.encrypted_content, `input.${position}`)]
    if (item.type !== 'function_call_output') return []
    const { call_id: id, output } = item
    const value = { type: 'text' as const, value: plainText(output) }
    return [
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: id, toolName: names.get(id) ?? 'tool', output: value }],
      },
    ]
  })
}

function toMessage({ role, content }: MessageInput, param: string): Message {
  if (role === 'assistant') return { role, content: plainText(content) }
  if (typeof content === 'string') return { role: 'user', content }
  return { role: 'user', content: content.map((part, position) => contentPart(part, `${param}.${position}`)) }
}

function contentPart(part: InputPart, param: string): ContentPart {
  switch (part.type) {
    case 'input_image':
      if (part.image_url === undefined)
        throw unsupported('uploaded images are not supported; send a URL or a data URL', param)
      return imagePart(part.image_url, `${param}.image_url`)
    case 'input_file': {
      const { file_data: data, file_url: url, filename: name } = part
      return filePart(
        {
          ...(data !== undefined && { data }),
          ...(url !== undefined && { url }),
          ...(name !== undefined && { name }),
        },
        param,
      )
    }
    case 'refusal':
      return { type: 'text', text: part.refusal }
    default:
      return { type: 'text', text: part.text }
  }
}

/** A run's input as items, for any protocol. */
export function toInputItems(part: Part, input: unknown): object[] {
  return messagesOf(input).map((message, position) => ({ id: toItemId('in', part, position), ...message }))
}

function messagesOf(input: unknown): object[] {
  if (typeof input === 'string') return [inputMessage('user', [{ type: 'input_text', text: input }])]
  const { messages, results, text, response } = (input ?? {}) as Record<string, unknown> & Partial<ForwardedInput>
  if (typeof response === 'object') return forwardedItems(response.input)
  if (Array.isArray(messages)) return (messages as Message[]).flatMap(toItems)
  if (Array.isArray(results)) return (results as { call: string; output: unknown }[]).map(resultItem)
  const inputText = typeof text === 'string' ? text : JSON.stringify(input)
  return [inputMessage('user', [{ type: 'input_text', text: inputText }])]
}

/** Input of a run whose upstream got the original request. */
interface ForwardedInput {
  readonly response: { readonly input?: unknown }
}

/** The items as the client sent them to the upstream. */
function forwardedItems(input: unknown): object[] {
  if (Array.isArray(input)) return input as object[]
  return typeof input === 'string' ? messagesOf(input) : []
}

function inputMessage(role: string, content: object[]): object {
  return { type: 'message', role, status: 'completed', content }
}

function resultItem({ call, output }: { readonly call: string; readonly output: unknown }): object {
  const text = typeof output === 'string' ? output : JSON.stringify(output)
  return { type: 'function_call_output', call_id: call, output: text, status: 'completed' }
}

/** One message as one item. */
export function toItem(message: Message): object {
  return toItems(message)[0] ?? {}
}

/** Tool calls and results become separate items. */
function toItems({ role, content }: Message): object[] {
  const kind = role === 'assistant' ? 'output_text' : 'input_text'
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
  const spoken = parts.flatMap((part): object[] => {
    if (part.type === 'text') return [{ type: kind, text: part.text, ...(role === 'assistant' && { annotations: [] }) }]
    return part.type === 'file' ? [fileItem(part)] : []
  })
  const others = parts.flatMap((part): object[] => {
    if (part.type === 'tool-result') return [resultItem({ call: part.toolCallId, output: part.output.value })]
    if (part.type !== 'tool-call') return []
    const { toolCallId, toolName, input } = part
    const given = typeof input === 'string' ? input : JSON.stringify(input)
    return [{ type: 'function_call', call_id: toolCallId, name: toolName, arguments: given, status: 'completed' }]
  })
  return [...(spoken.length === 0 ? [] : [inputMessage(role, spoken)]), ...others]
}

function fileItem({ mediaType, data, filename }: Extract<ContentPart, { type: 'file' }>): object {
  const isAddress = /^https?:/i.test(data)
  const address = isAddress ? data : `data:${mediaType};base64,${data}`
  if (mediaType.startsWith('image')) return { type: 'input_image', image_url: address, detail: 'auto' }
  return {
    type: 'input_file',
    filename: filename ?? null,
    ...(isAddress ? { file_url: data } : { file_data: address }),
  }
}
