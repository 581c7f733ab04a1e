/** Derives the events of a run from the chunks of a chat completion. */
import { createEvent } from '../../core/ports/component.ts'
import type { Event, Usage } from '../../core/model/event.ts'
import { clipped, OUTPUT_CHARS_MAX, piecesOf } from '../shared/long-text.ts'
import { usageOf } from '../shared/usage.ts'
import type { ChatChunk, ChatUsage, ToolCallDelta } from './chat-wire.ts'

export interface DraftedCall {
  readonly call: string
  readonly name: string
  readonly arguments: string
}

export class ChatOutput {
  readonly #id: string
  readonly #calls = new Map<number, DraftedCall>()
  #open: { readonly type: 'text' | 'reasoning'; readonly message: string } | undefined
  #messages = 0
  #model: string
  #usage: Usage | undefined
  /** Whether the response has any content. */
  hasContent = false
  /** Its text; undefined once it is too long to be recorded again. */
  text: string | undefined = ''
  finish: string | undefined
  /** Text of an error beside or instead of content. */
  error: string | undefined

  constructor(id: string, model: string) {
    this.#id = id
    this.#model = model
  }

  get calls(): readonly DraftedCall[] {
    return [...this.#calls.values()]
  }

  get usage(): Usage | undefined {
    return this.#usage
  }

  /** Uses only the first choice: a run has one response. */
  *add({ choices, usage, error, model }: ChatChunk): Generator<Event> {
    if (typeof model === 'string') this.#model = model
    if (error !== undefined && error !== null) this.error = errorText(error)
    if (usage !== undefined && usage !== null) this.#usage = toUsage(usage)
    const choice = choices?.find(({ index = 0 }) => index === 0)
    if (choice === undefined) return
    const { delta, finish_reason: finish } = choice
    yield* this.#piece('reasoning', delta?.reasoning_content ?? delta?.reasoning)
    yield* this.#piece('text', delta?.content)
    yield* this.#piece('text', delta?.refusal)
    for (const call of delta?.tool_calls ?? []) yield* this.#draft(call)
    if (typeof finish === 'string' && finish !== '') this.finish = finish
  }

  /** Call after the last chunk: closes texts, and emits the tool calls and the usage. */
  *end(): Generator<Event> {
    yield* this.#close()
    for (const { call, name, arguments: input } of this.calls)
      yield createEvent('tool.called', { call, name, input: parsedInput(input) })
    yield createEvent('model.responded', {
      request: `${this.#id}/model`,
      model: this.#model,
      ...(this.finish !== undefined && { finish: this.finish.replaceAll('_', '-') }),
      ...(this.#usage !== undefined && { usage: this.#usage }),
    })
  }

  *#piece(type: 'text' | 'reasoning', text: unknown): Generator<Event> {
    if (typeof text !== 'string' || text === '') return
    this.hasContent = true
    if (this.#open?.type !== type) {
      yield* this.#close()
      this.#open = { type, message: `${this.#id}/message-${++this.#messages}` }
      yield createEvent(`${type}.started`, { message: this.#open.message })
    }
    if (type === 'text' && this.text !== undefined)
      this.text = this.text.length + text.length > OUTPUT_CHARS_MAX ? undefined : this.text + text
    const { message } = this.#open
    for (const piece of piecesOf(text)) yield createEvent(`${type}.delta`, { text: piece, message })
  }

  *#close(): Generator<Event> {
    if (this.#open !== undefined) yield createEvent(`${this.#open.type}.completed`, { message: this.#open.message })
    this.#open = undefined
  }

  *#draft({ index = 0, id, function: called }: ToolCallDelta): Generator<Event> {
    this.hasContent = true
    const known = this.#calls.get(index)
    const delta = called?.arguments ?? ''
    const call = {
      call: known?.call ?? id ?? `call-${index}`,
      name: known?.name ?? called?.name ?? 'tool',
      arguments: (known?.arguments ?? '') + delta,
    }
    this.#calls.set(index, call)
    yield createEvent('tool.drafted', { call: call.call, name: call.name, delta })
  }
}

function toUsage(usage: ChatUsage): Usage {
  return usageOf({
    inputTokens: usage.prompt_tokens,
    outputTokens: usage.completion_tokens,
    totalTokens: usage.total_tokens,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens,
    cachedInputTokens: usage.prompt_tokens_details?.cached_tokens,
  })
}

function errorText(error: unknown): string {
  const { message } = (typeof error === 'object' ? error : {}) as { message?: unknown }
  return clipped(typeof message === 'string' ? message : typeof error === 'string' ? error : JSON.stringify(error))
}

/** Tool input of a model may be invalid JSON and is then kept as text. */
export function parsedInput(input: string): unknown {
  try {
    return JSON.parse(input === '' ? '{}' : input)
  } catch {
    return input
  }
}
