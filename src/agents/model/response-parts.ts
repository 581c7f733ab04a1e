/** Collects a streaming model response: emits an event per part and builds the assistant message. */
import type { LanguageModelStreamPart as StreamPart, GeneratedFile } from 'ai'
import { createEvent, WorkError } from '../../core/ports/component.ts'
import { messageOf } from '../../core/model/errors.ts'
import type { Event } from '../../core/model/event.ts'
import type { ModelToolCall, ModelTurn } from './request.ts'
import { outputFor } from './tools/tools.ts'

type Content = ModelTurn['content']
type TextPart = Extract<Content[number], { type: 'text' | 'reasoning' }>
type Writable<Part> = { -readonly [Key in keyof Part]: Part[Key] }
type Metadata = NonNullable<TextPart['providerOptions']>

export class ResponseParts {
  readonly #request: string
  readonly #content: Content = []
  readonly #calls: ModelToolCall[] = []
  /** Texts in progress, by the provider's id. */
  readonly #open = new Map<string, { readonly message: string; readonly part: Writable<TextPart> }>()
  /** Names of tools whose input is being streamed. */
  readonly #drafts = new Map<string, string>()
  #messages = 0
  #artifacts = 0

  constructor(request: string) {
    this.#request = request
  }

  finished(): Pick<ModelTurn, 'content' | 'text' | 'calls'> {
    // Providers reject empty parts, except signed ones.
    const content = this.#content.filter(
      (part) => part.type !== 'text' || part.text !== '' || part.providerOptions !== undefined,
    )
    const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('')
    return { content, text, calls: this.#calls }
  }

  /** Adds a part and returns the event to emit, if any. */
  add(part: StreamPart): Event | undefined {
    switch (part.type) {
      case 'text-delta':
        return this.#delta('text', part.id, part.text, part.providerMetadata)
      case 'reasoning-delta':
        return this.#delta('reasoning', part.id, part.text, part.providerMetadata)
      case 'text-start':
        return this.#start('text', part.id, part.providerMetadata)
      case 'reasoning-start':
        return this.#start('reasoning', part.id, part.providerMetadata)
      case 'text-end':
      case 'reasoning-end':
        return this.#end(part.id, part.providerMetadata)
      case 'tool-input-start':
        this.#drafts.set(part.id, part.toolName)
        return undefined
      case 'tool-input-delta':
        return this.#draft(part.id, part.delta)
      case 'tool-call':
        return this.#call(part)
      case 'tool-result':
      case 'tool-error':
        return this.#providerResult(part)
      case 'file':
      case 'reasoning-file':
        return this.#file(part.type, part.file, part.providerMetadata)
      case 'source':
        return createEvent('source.cited', {
          source: part.id,
          ...(part.sourceType === 'url' ? { url: part.url } : { mediaType: part.mediaType }),
          ...(part.title !== undefined && { title: part.title }),
        })
      case 'custom':
        this.#content.push({ type: 'custom', kind: part.kind, ...options(part.providerMetadata) })
        return undefined
      case 'tool-approval-request':
        throw new WorkError({
          code: 'unsupported',
          message: `the provider asks for approval of ${part.toolCall.toolName}, which it executes itself; that is not supported`,
        })
      default:
        return undefined
    }
  }

  #start(type: 'text' | 'reasoning', id: string, metadata: Metadata | undefined): Event {
    const part: Writable<TextPart> = { type, text: '', ...options(metadata) }
    const message = `${this.#request}/${++this.#messages}`
    this.#content.push(part)
    this.#open.set(id, { message, part })
    return createEvent(`${type}.started`, { message })
  }

  #delta(type: 'text' | 'reasoning', id: string, text: string, metadata: Metadata | undefined): Event | undefined {
    if (!this.#open.has(id)) this.#start(type, id, undefined)
    const { message, part } = this.#open.get(id)!
    part.text += text
    if (metadata !== undefined) part.providerOptions = metadata
    return text === '' ? undefined : createEvent(`${type}.delta`, { text, message })
  }

  #end(id: string, metadata: Metadata | undefined): Event | undefined {
    const open = this.#open.get(id)
    if (open === undefined) return undefined
    this.#open.delete(id)
    if (metadata !== undefined) open.part.providerOptions = metadata
    return createEvent(`${open.part.type}.completed`, { message: open.message })
  }

  #draft(id: string, delta: string): Event | undefined {
    const name = this.#drafts.get(id)
    return name === undefined || delta === '' ? undefined : createEvent('tool.drafted', { call: id, name, delta })
  }

  #call(part: Extract<StreamPart, { type: 'tool-call' }>): Event | undefined {
    const { toolCallId: id, toolName: name, providerExecuted } = part
    const input = part.input as unknown
    this.#content.push({
      type: 'tool-call',
      toolCallId: id,
      toolName: name,
      // Providers require an object, whatever their model wrote.
      input: part.invalid === true && typeof input !== 'object' ? {} : input,
      ...(providerExecuted !== undefined && { providerExecuted }),
      ...options(part.providerMetadata),
    })
    if (providerExecuted === true) return createEvent('tool.called', { call: id, name, input })
    const problem = part.invalid === true ? messageOf(part.error) : undefined
    this.#calls.push({ id, name, input, ...(problem !== undefined && { problem }) })
    return undefined
  }

  #providerResult(part: Extract<StreamPart, { type: 'tool-result' | 'tool-error' }>): Event | undefined {
    // Belongs to a call that could not be parsed, which is reported separately.
    if (part.providerExecuted !== true) return undefined
    const { toolCallId: call, toolName: name } = part
    const failed = part.type === 'tool-error'
    const output = (failed ? part.error : part.output) as unknown
    if (!failed && part.preliminary === true) return createEvent('tool.progressed', { call, output })
    this.#content.push({
      type: 'tool-result',
      toolCallId: call,
      toolName: name,
      output: failed ? { type: 'error-text', value: textOf(output) } : outputFor(output),
      ...options(part.providerMetadata),
    })
    if (!failed) return createEvent('tool.completed', { call, name, output })
    return createEvent('tool.failed', { call, name, error: { code: 'agent_failed', message: textOf(output) } })
  }

  #file(type: 'file' | 'reasoning-file', file: GeneratedFile, metadata: Metadata | undefined): Event {
    const { mediaType, base64 } = file
    this.#content.push({ type, mediaType, data: base64, ...options(metadata) })
    const artifact = `${this.#request}/file-${++this.#artifacts}`
    return createEvent('artifact.added', { artifact, mediaType, bytes: base64, last: true })
  }
}

function options(metadata: Metadata | undefined): { providerOptions?: Metadata } {
  return metadata === undefined ? {} : { providerOptions: metadata }
}

function textOf(error: unknown): string {
  return typeof error === 'object' && error !== null && !(error instanceof Error)
    ? JSON.stringify(error)
    : messageOf(error)
}
