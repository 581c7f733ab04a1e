/** Converts LangChain messages and state to plain values. */

/** The fields of a message that are used. */
export interface Message {
  readonly id?: string
  readonly content: unknown
  readonly name?: string
  readonly status?: string
  readonly tool_call_id?: string
  readonly tool_calls?: readonly { readonly id?: string; readonly name: string; readonly args: unknown }[]
  readonly tool_call_chunks?: readonly {
    readonly index?: number
    readonly id?: string
    readonly name?: string
    readonly args?: string
  }[]
  readonly usage_metadata?: {
    readonly input_tokens?: number
    readonly output_tokens?: number
    readonly total_tokens?: number
  }
  readonly response_metadata?: Readonly<Record<string, unknown>>
  getType(): string
}

function isMessage(value: unknown): value is Message {
  return typeof (value as Partial<Message> | null)?.getType === 'function'
}

/** Text and reasoning of a message, whose content is a string or a list of blocks. */
export function contentOf({ content }: Message): { readonly text: string; readonly reasoning: string } {
  if (typeof content === 'string') return { text: content, reasoning: '' }
  let text = ''
  let reasoning = ''
  for (const block of Array.isArray(content) ? (content as (Record<string, unknown> | string)[]) : []) {
    if (typeof block === 'string') text += block
    else if (typeof block['text'] === 'string' && block['type'] === 'text') text += block['text']
    else for (const name of ['reasoning', 'thinking']) if (typeof block[name] === 'string') reasoning += block[name]
  }
  return { text, reasoning }
}

const DEPTH_MAX = 8

/** Copies a node's result, with its messages shortened. */
export function toPlainJson(value: unknown, depth = 0): unknown {
  if (depth > DEPTH_MAX || typeof value !== 'object' || value === null) return value
  if (isMessage(value)) {
    const { tool_calls: calls = [] } = value
    return { type: value.getType(), content: value.content, ...(calls.length > 0 && { tool_calls: calls }) }
  }
  if (Array.isArray(value)) return value.map((item) => toPlainJson(item, depth + 1))
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toPlainJson(item, depth + 1)]))
}

/** Finds the messages in a node's result, at any key of its state. */
export function messagesIn(value: unknown, depth = 0): Message[] {
  if (depth > DEPTH_MAX || typeof value !== 'object' || value === null) return []
  if (isMessage(value)) return [value]
  const items: unknown[] = Array.isArray(value) ? value : Object.values(value)
  return items.flatMap((item) => messagesIn(item, depth + 1))
}

/** The text of the last message, if the state has messages; otherwise the state. */
export function outputOf(state: unknown): unknown {
  const { messages } = (state ?? {}) as { messages?: unknown }
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  return isMessage(last) ? contentOf(last).text : toPlainJson(state)
}
