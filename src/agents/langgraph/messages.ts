/** Messages of one superstep: text as it streams, tool calls when they are complete. */
import { createEvent } from '../../core/ports/component.ts'
import type { Event } from '../../core/model/event.ts'
import { usageOf } from '../shared/usage.ts'
import { contentOf, type Message } from './values.ts'

interface OpenMessage {
  /** Id of its task. */
  readonly task: string
  readonly ids: { text?: string; reasoning?: string }
  readonly drafts: Map<number, { readonly call: string; readonly name: string }>
}

export class GraphMessages {
  readonly #id: string
  readonly #open = new Map<string, OpenMessage>()
  readonly #called = new Set<string>()
  #count = 0
  #requests = 0

  constructor(id: string) {
    this.#id = id
  }

  /** Adds a message or a chunk of one. */
  *add(message: Message, task: string): Generator<Event> {
    if (message.getType() !== 'ai') return
    const key = message.id ?? task
    const open = this.#open.get(key) ?? { task, ids: {}, drafts: new Map() }
    this.#open.set(key, open)
    const { text, reasoning } = contentOf(message)
    if (reasoning !== '') yield* this.#piece('reasoning', open, reasoning)
    if (text !== '') yield* this.#piece('text', open, text)
    yield* drafts(message, open)
    yield* this.#responded(message)
  }

  /** Ends the messages of one task, or of all. */
  *close(task?: string): Generator<Event> {
    for (const [key, { task: of, ids }] of this.#open) {
      if (task !== undefined && !of.includes(task)) continue
      this.#open.delete(key)
      if (ids.reasoning !== undefined) yield createEvent('reasoning.completed', { message: ids.reasoning })
      if (ids.text !== undefined) yield createEvent('text.completed', { message: ids.text })
    }
  }

  /** Events for the tool calls and tool results in a node's result. */
  *tools(messages: readonly Message[]): Generator<Event> {
    for (const message of messages) {
      for (const { id: call = message.id ?? '', name, args } of message.tool_calls ?? []) {
        if (this.#called.has(call)) continue
        this.#called.add(call)
        yield createEvent('tool.called', { call, name, input: args ?? null })
      }
      if (message.getType() === 'tool') yield resultOf(message)
    }
  }

  /** Models report token counts at the end, or partial counts in several chunks. */
  *#responded({ usage_metadata: counted, response_metadata: about = {} }: Message): Generator<Event> {
    if (counted === undefined) return
    const { model_name: model, finish_reason: finish } = about
    yield createEvent('model.responded', {
      request: `${this.#id}/model-${++this.#requests}`,
      model: typeof model === 'string' ? model : 'unknown',
      ...(typeof finish === 'string' && { finish }),
      usage: usageOf({
        inputTokens: counted.input_tokens,
        outputTokens: counted.output_tokens,
        totalTokens: counted.total_tokens,
      }),
    })
  }

  *#piece(type: 'text' | 'reasoning', { ids }: OpenMessage, text: string): Generator<Event> {
    if (ids[type] === undefined) {
      ids[type] = `${this.#id}/message-${++this.#count}`
      yield createEvent(`${type}.started`, { message: ids[type] })
    }
    yield createEvent(`${type}.delta`, { text, message: ids[type] })
  }
}

function* drafts({ tool_call_chunks: chunks = [] }: Message, open: OpenMessage): Generator<Event> {
  for (const { index = 0, id, name, args } of chunks) {
    if (id !== undefined && name !== undefined) open.drafts.set(index, { call: id, name })
    const draft = open.drafts.get(index)
    if (draft !== undefined && args !== undefined && args !== '')
      yield createEvent('tool.drafted', { ...draft, delta: args })
  }
}

function resultOf(message: Message): Event {
  const { tool_call_id: call = '', name = 'tool', status, content } = message
  if (status !== 'error') return createEvent('tool.completed', { call, name, output: content })
  return createEvent('tool.failed', { call, name, error: { code: 'agent_failed', message: contentOf(message).text } })
}
