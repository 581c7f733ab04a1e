/** Extracts the user's message from an input, in any of the forms that protocols use. */
import type { Message } from '../schema/conversation.ts'

export interface InputFile {
  readonly mediaType: string
  readonly data?: string
  readonly url?: string
  readonly name?: string
}

/** A conversation, or one message. */
export type UserInput =
  | { readonly messages: readonly Message[] }
  | { readonly text: string; readonly files: readonly InputFile[] }

/** Other inputs are shown as JSON. Undefined if the input is empty. */
export function userInputOf(input: unknown): UserInput | undefined {
  if (input === null || input === undefined) return undefined
  if (typeof input === 'string') return { text: input, files: [] }
  const { messages, text, files } = (typeof input === 'object' ? input : {}) as {
    readonly messages?: readonly Message[]
    readonly text?: unknown
    readonly files?: readonly InputFile[]
  }
  if (Array.isArray(messages)) return { messages: messages as readonly Message[] }
  return typeof text === 'string' ? { text, files: files ?? [] } : { text: JSON.stringify(input), files: [] }
}
