/** Maps the stream of the OpenAI Agents SDK to events. */
import type { RunItemStreamEvent, RunStreamEvent } from '@openai/agents'
import { createEvent, type Emission } from '../../core/ports/component.ts'
import type { Event } from '../../core/model/event.ts'
import { usageOf } from '../shared/usage.ts'
import { parseToolArguments } from './parse-tool-arguments.ts'

export async function* shownEvents(
  stream: AsyncIterable<RunStreamEvent>,
  id: string,
  first: string,
): AsyncGenerator<Emission, void, void> {
  const emitted = new StreamOutput(id)
  yield* emitted.turnTo(first)
  for await (const event of stream) {
    if (event.type === 'agent_updated_stream_event') yield* emitted.turnTo(event.agent.name)
    else if (event.type === 'run_item_stream_event') yield* emitted.item(event)
    else yield* emitted.raw(event.data)
  }
  yield* emitted.end()
}

/** The fields used of raw model events, in the SDK's form or, as `model`, in the provider's. */
interface RawEvent {
  readonly type: string
  readonly delta?: string
  readonly response?: { readonly id: string; readonly usage?: Readonly<Record<string, unknown>> }
  readonly event?: { readonly type?: unknown; readonly delta?: unknown }
}

class StreamOutput {
  readonly #id: string
  #agents = 0
  #agent: { readonly step: string; readonly name: string } | undefined
  #messages = 0
  #open: { readonly type: 'text' | 'reasoning'; readonly message: string } | undefined
  /** The response was streamed as deltas, so its message item adds nothing. */
  readonly #streamed = { text: false, reasoning: false }

  constructor(id: string) {
    this.#id = id
  }

  /** An agent takes over, at the start or after a handoff. */
  *turnTo(name: string): Generator<Event> {
    if (this.#agent?.name === name) return
    yield* this.end()
    this.#agent = { step: `${this.#id}/agent-${++this.#agents}`, name }
    yield createEvent('step.started', { ...this.#agent, kind: 'agent' })
  }

  *end(): Generator<Event> {
    yield* this.#close()
    if (this.#agent !== undefined) yield createEvent('step.completed', this.#agent)
    this.#agent = undefined
  }

  *raw({ type, delta, response, event }: RawEvent): Generator<Event> {
    if (type === 'response_started') {
      this.#streamed.text = false
      this.#streamed.reasoning = false
    } else if (type === 'output_text_delta') yield* this.#piece('text', delta ?? '')
    else if (type === 'response_done') yield* this.#responded(response!)
    else if (typeof event?.delta === 'string' && /^response\.reasoning.*\.delta$/.test(String(event.type)))
      yield* this.#piece('reasoning', event.delta)
  }

  *item({ name, item }: RunItemStreamEvent): Generator<Event> {
    switch (item.type) {
      case 'message_output_item':
        if (!this.#streamed.text) yield* this.#whole('text', item.content)
        return
      case 'reasoning_item':
        if (!this.#streamed.reasoning)
          yield* this.#whole('reasoning', item.rawItem.content.map(({ text }) => text).join(''))
        return
      case 'tool_call_item':
      case 'handoff_call_item': {
        const { name: tool, arguments: input } = item.rawItem as { name?: string; arguments?: unknown }
        yield createEvent('tool.called', {
          call: callOf(item.rawItem),
          name: tool ?? item.rawItem.type,
          input: parseToolArguments(input),
        })
        return
      }
      case 'tool_call_output_item':
        yield createEvent('tool.completed', {
          call: callOf(item.rawItem),
          name: (item.rawItem as { name?: string }).name ?? item.rawItem.type,
          output: item.output ?? null,
        })
        return
      case 'handoff_output_item':
        yield createEvent('tool.completed', {
          call: callOf(item.rawItem),
          name: (item.rawItem as { name?: string }).name ?? name,
          output: { agent: item.targetAgent.name },
        })
        return
      default:
    }
  }

  *#responded({ id, usage = {} }: NonNullable<RawEvent['response']>): Generator<Event> {
    yield* this.#close()
    const { inputTokens, outputTokens, totalTokens } = usage
    const counted = usageOf({ inputTokens, outputTokens, totalTokens })
    yield createEvent('model.responded', { request: id, model: this.#agent?.name ?? 'agent', usage: counted })
  }

  *#whole(type: 'text' | 'reasoning', text: string): Generator<Event> {
    if (text === '') return
    yield* this.#piece(type, text)
    yield* this.#close()
  }

  *#piece(type: 'text' | 'reasoning', text: string): Generator<Event> {
    if (text === '') return
    this.#streamed[type] = true
    if (this.#open?.type !== type) {
      yield* this.#close()
      this.#open = { type, message: `${this.#id}/message-${++this.#messages}` }
      yield createEvent(`${type}.started`, { message: this.#open.message })
    }
    yield createEvent(`${type}.delta`, { text, message: this.#open.message })
  }

  *#close(): Generator<Event> {
    if (this.#open !== undefined) yield createEvent(`${this.#open.type}.completed`, { message: this.#open.message })
    this.#open = undefined
  }
}

function callOf(item: object): string {
  const { callId, id } = item as { callId?: string; id?: string }
  return callId ?? id ?? ''
}
