/** Derives the events of a run from those of a response. */
import { createEvent, WorkError } from '../../core/ports/component.ts'
import type { Event, Usage } from '../../core/model/event.ts'
import { clipped, OUTPUT_CHARS_MAX, piecesOf } from '../shared/long-text.ts'
import { usageOf } from '../shared/usage.ts'
import { parsedInput } from './chat-output.ts'
import type { UpstreamResponse, UpstreamResponseEvent, UpstreamUsage } from './response-wire.ts'

type Kind = 'text' | 'reasoning'

/** Kind of text of each delta event. */
const DELTAS: ReadonlyMap<string, Kind> = new Map([
  ['response.output_text.delta', 'text'],
  ['response.refusal.delta', 'text'],
  ['response.reasoning_summary_text.delta', 'reasoning'],
  ['response.reasoning_text.delta', 'reasoning'],
])

const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled', 'error'])

export class ResponseOutput {
  readonly #id: string
  #model: string
  #usage: Usage | undefined
  #open: { readonly kind: Kind; readonly message: string } | undefined
  #messages = 0
  /** The terminal event. */
  #end: UpstreamResponseEvent | undefined
  /** Its text; undefined once it is too long to be recorded again. */
  text: string | undefined = ''

  constructor(id: string, model: string) {
    this.#id = id
    this.#model = model
  }

  get isEnded(): boolean {
    return this.#end !== undefined
  }

  *add(event: UpstreamResponseEvent): Generator<Event> {
    const { type, response, delta, item } = event
    const kind = DELTAS.get(type)
    if (kind !== undefined && typeof delta === 'string') yield* this.#piece(kind, delta)
    // The caller executes its tools itself, and sends their results with its next request.
    if (type === 'response.output_item.done') {
      yield* this.#close()
      if (item?.['type'] === 'function_call') yield calledTool(item)
    }
    if (response !== undefined) this.#note(response)
    if (ENDS.has(type)) this.#end = event
  }

  /** Call after the last event: closes texts, and emits the usage. */
  *end(): Generator<Event> {
    yield* this.#close()
    const finish = this.#end?.type === 'response.incomplete' ? reasonOf(this.#end) : 'stop'
    yield createEvent('model.responded', {
      request: `${this.#id}/model`,
      model: this.#model,
      finish,
      ...(this.#usage !== undefined && { usage: this.#usage }),
    })
  }

  /** Throws unless the response completed, or is incomplete by its own limits. */
  assertSuccess(): void {
    const { type = '', response, error, message } = this.#end ?? {}
    if (type === 'response.completed' || type === 'response.incomplete') return
    const detail = errorText(response?.error ?? error ?? message)
    throw new WorkError({ code: 'upstream_error', message: detail ?? `the upstream ended the response with ${type}` })
  }

  #note({ model, usage }: UpstreamResponse): void {
    if (typeof model === 'string') this.#model = model
    if (usage !== undefined && usage !== null) this.#usage = toUsage(usage)
  }

  *#piece(kind: Kind, text: string): Generator<Event> {
    if (text === '') return
    if (this.#open?.kind !== kind) {
      yield* this.#close()
      this.#open = { kind, message: `${this.#id}/message-${++this.#messages}` }
      yield createEvent(`${kind}.started`, { message: this.#open.message })
    }
    if (kind === 'text' && this.text !== undefined)
      this.text = this.text.length + text.length > OUTPUT_CHARS_MAX ? undefined : this.text + text
    const { message } = this.#open
    for (const piece of piecesOf(text)) yield createEvent(`${kind}.delta`, { text: piece, message })
  }

  *#close(): Generator<Event> {
    if (this.#open !== undefined) yield createEvent(`${this.#open.kind}.completed`, { message: this.#open.message })
    this.#open = undefined
  }
}

function calledTool(item: Readonly<Record<string, unknown>>): Event {
  const { call_id: call, name, arguments: input } = item
  return createEvent('tool.called', {
    call: typeof call === 'string' ? call : 'call',
    name: typeof name === 'string' ? name : 'tool',
    input: parsedInput(typeof input === 'string' ? input : ''),
  })
}

function reasonOf({ response }: UpstreamResponseEvent): string {
  return response?.incomplete_details?.reason === 'content_filter' ? 'content-filter' : 'length'
}

function toUsage(usage: UpstreamUsage): Usage {
  return usageOf({
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    totalTokens: usage.total_tokens,
    reasoningTokens: usage.output_tokens_details?.reasoning_tokens,
    cachedInputTokens: usage.input_tokens_details?.cached_tokens,
  })
}

function errorText(error: unknown): string | undefined {
  const { message } = (typeof error === 'object' && error !== null ? error : {}) as { message?: unknown }
  const text = typeof message === 'string' ? message : typeof error === 'string' ? error : undefined
  return text === undefined ? undefined : clipped(text)
}
