/**
 * A conversation as the input of a component: messages in the form of the AI SDK and the caller's model options (src/agents/model), or
 * plain text, depending on what the component accepts.
 */
import type { Component } from '../ports/component.ts'
import { validate } from './validate.ts'
import type { CallerOptions } from '../model/caller-options.ts'
import { HoldfastError } from '../model/errors.ts'

export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly mediaType: string; readonly data: string; readonly filename?: string }
  | { readonly type: 'tool-call'; readonly toolCallId: string; readonly toolName: string; readonly input: unknown }
  | {
      readonly type: 'tool-result'
      readonly toolCallId: string
      readonly toolName: string
      readonly output:
        | { readonly type: 'text' | 'error-text'; readonly value: string }
        | { readonly type: 'json'; readonly value: unknown }
    }

export interface Message {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: string | readonly ContentPart[]
}

export interface Conversation {
  readonly messages: readonly Message[]
  readonly caller: CallerOptions
  /**
   * Whether the messages extend the session's history or are the whole conversation. Default: the whole one if they include
   * assistant messages.
   */
  readonly continues?: boolean | undefined
}

/**
 * Passes a single text as it is. Otherwise, a component that accepts conversations (by its input schema) gets all messages, and
 * others get the last user message.
 */
export async function inputFor(component: Component, { messages, caller, continues }: Conversation): Promise<unknown> {
  if (messages.length === 0) throw new HoldfastError('invalid_request', 'the request has no messages')
  const [only] = messages
  const bare = Object.keys(caller).length === 0
  const isBareText = bare && messages.length === 1 && only!.role === 'user' && isText(only!)
  if (isBareText && continues !== false) return textOf(only!)
  const conversation = { messages, ...(!bare && { caller }), ...(continues !== undefined && { continues }) }
  if (await accepts(component, conversation)) return conversation
  const last = messages.findLast(({ role }) => role === 'user')
  if (last === undefined)
    throw new HoldfastError('invalid_request', `${component.id} needs a user message, but the request has none`)
  return isText(last) ? textOf(last) : { text: textOf(last), files: filesOf(last) }
}

async function accepts({ input: schema }: Component, input: unknown): Promise<boolean> {
  return schema !== undefined && (await validate(schema, input)).issues === undefined
}

function isText({ content }: Message): boolean {
  return typeof content === 'string' || content.every(({ type }) => type === 'text')
}

function textOf({ content }: Message): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function filesOf({ content }: Message): object[] {
  if (typeof content === 'string') return []
  return content.flatMap((part) => {
    if (part.type !== 'file') return []
    const { mediaType, data, filename } = part
    const source = /^https?:/i.test(data) ? { url: data } : { data }
    return [{ mediaType, ...source, ...(filename !== undefined && { name: filename }) }]
  })
}
