/** Builds the parts of a UI message from its chunks, as the AI SDK's client does. */
import type { Chunk } from '../chunks.ts'
import { parsePartialJson } from './partial-json.ts'

/** Parts are JSON: their shapes are those of the AI SDK's `UIMessagePart`. */
export interface UIMessagePart {
  readonly type: string
  readonly [field: string]: unknown
}

export function toUiParts(chunks: Iterable<Chunk>): readonly UIMessagePart[] {
  const parts = new PartList()
  for (const chunk of chunks) parts.add(chunk)
  return parts.finished()
}

/** Fields that chunks of durable streams may have besides those that Holdfast makes. */
interface Extras {
  readonly providerMetadata?: unknown
  readonly providerExecuted?: boolean
  readonly title?: string
  readonly filename?: string
  readonly toolMetadata?: unknown
  readonly citations?: unknown
  readonly transient?: boolean
  readonly inputEncoding?: 'json' | 'text'
}

/** The input of a call, as far as it was streamed. */
interface Draft {
  readonly head: UIMessagePart
  readonly encoding: Extras['inputEncoding']
  text: string
}

class PartList {
  readonly list: UIMessagePart[] = []
  /** Positions of parts that later chunks change: open texts, tool calls, data with an id. */
  readonly #places = new Map<string, number>()
  /** Inputs of calls that are drafted and not made, by the calls' ids. */
  readonly #drafts = new Map<string, Draft>()
  /** Position of the first part of the current step. */
  #step = 0

  finished(): readonly UIMessagePart[] {
    for (const call of this.#drafts.keys()) this.#readDraft(call)
    return this.list
  }

  add(chunk: Chunk): void {
    const { providerMetadata, citations, title, filename } = chunk as Extras
    const provider = given({ providerMetadata })
    switch (chunk.type) {
      case 'start-step':
        this.#step = this.list.push({ type: 'step-start' })
        break
      case 'reset-step':
        this.#resetStep()
        break
      case 'text-start':
      case 'reasoning-start': {
        const [kind] = chunk.type.split('-') as ['text' | 'reasoning']
        const id = kind === 'reasoning' ? { id: chunk.id } : {}
        this.#put(`${kind} ${chunk.id}`, { type: kind, ...id, text: '', ...provider, state: 'streaming' }, true)
        break
      }
      case 'text-delta':
      case 'reasoning-delta':
        this.#change(`${chunk.type.split('-')[0]} ${chunk.id}`, ({ text }) => ({
          text: String(text) + chunk.delta,
          ...provider,
        }))
        break
      case 'text-end':
      case 'reasoning-end':
        this.#change(`${chunk.type.split('-')[0]} ${chunk.id}`, () => ({
          state: 'done',
          ...given({ citations }),
          ...provider,
        }))
        break
      case 'source-url':
      case 'source-document': {
        const { type, sourceId } = chunk
        const about =
          type === 'source-url' ? { url: chunk.url } : { mediaType: chunk.mediaType, ...given({ filename }) }
        this.list.push({ type, sourceId, ...about, ...given({ title }), ...provider })
        break
      }
      case 'file':
      case 'reasoning-file':
        this.list.push({ type: chunk.type, mediaType: chunk.mediaType, url: chunk.url, ...provider })
        break
      case 'custom':
        this.list.push({ type: 'custom', kind: chunk.kind, ...provider })
        break
      case 'steering-message':
        this.list.push({ type: 'steering-message', id: chunk.id, parts: chunk.parts })
        break
      default:
        if (chunk.type.startsWith('data-')) this.#addData(chunk as Extract<Chunk, { type: `data-${string}` }>)
        else this.#addToTool(chunk)
    }
  }

  #addData(chunk: Extract<Chunk, { type: `data-${string}` }>): void {
    if ((chunk as Extras).transient === true) return
    const key = `${chunk.type} ${chunk.id}`
    if (chunk.id === undefined) this.list.push({ ...chunk })
    else if (this.#places.has(key)) this.#change(key, () => ({ data: chunk.data }))
    else this.#put(key, { ...chunk })
  }

  #addToTool(chunk: Chunk): void {
    const { providerMetadata, providerExecuted, title, toolMetadata, inputEncoding } = chunk as Extras
    const extras = given({ providerExecuted, title, toolMetadata })
    switch (chunk.type) {
      case 'tool-input-start':
      case 'tool-input-available':
      case 'tool-input-error': {
        const { toolCallId, toolName, dynamic = false } = chunk
        const head = dynamic ? { type: 'dynamic-tool', toolName } : { type: `tool-${toolName}` }
        this.#putCall(toolCallId, head)
        const isError = chunk.type === 'tool-input-error'
        const call = given({ [isError ? 'resultProviderMetadata' : 'callProviderMetadata']: providerMetadata })
        const input = 'input' in chunk ? chunk.input : undefined
        const state = INPUT_STATES[chunk.type]
        if (chunk.type === 'tool-input-start') this.#drafts.set(toolCallId, { head, encoding: inputEncoding, text: '' })
        else this.#drafts.delete(toolCallId)
        this.#change(toolCallId, () => ({
          state,
          input,
          rawInput: undefined,
          inputEncoding,
          ...(isError && { errorText: chunk.errorText }),
          ...extras,
          ...call,
        }))
        break
      }
      case 'tool-input-delta': {
        const draft = this.#drafts.get(chunk.toolCallId)
        if (draft === undefined) break
        this.#putCall(chunk.toolCallId, draft.head)
        draft.text += chunk.inputTextDelta
        this.#change(chunk.toolCallId, () => ({ state: 'input-streaming', rawInput: draft.text }))
        break
      }
      case 'tool-approval-request': {
        const { approvalId: id, toolCallId, reason, approvalDescriptor, isAutomatic, signature } = chunk
        this.#places.set(`approval ${id}`, this.#places.get(toolCallId) ?? -1)
        const schemaInput = 'inputSchemaInput' in chunk ? { inputSchemaInput: chunk.inputSchemaInput } : {}
        const about = given({ descriptor: approvalDescriptor, requestReason: reason, signature })
        const automatic = isAutomatic === true ? { isAutomatic } : {}
        const approval = { id, ...about, ...schemaInput, ...automatic }
        this.#change(toolCallId, () => ({ state: 'approval-requested', approval }))
        break
      }
      case 'tool-approval-response': {
        const { approvalId: id, approved, reason } = chunk
        const call = given({ providerExecuted, callProviderMetadata: providerMetadata })
        this.#change(`approval ${id}`, ({ approval }) => ({
          state: 'approval-responded',
          approval: { ...(approval as object), id, approved, ...given({ reason }) },
          ...call,
        }))
        break
      }
      case 'tool-output-available': {
        const { output, preliminary, toolCallId } = chunk
        const result = given({ resultProviderMetadata: providerMetadata })
        this.#change(toolCallId, () => ({
          state: 'output-available',
          output,
          preliminary,
          ...NO_RAW_INPUT,
          ...extras,
          ...result,
        }))
        break
      }
      case 'tool-output-error': {
        const { errorText, toolCallId } = chunk
        const result = given({ resultProviderMetadata: providerMetadata })
        const gone = { output: undefined, preliminary: undefined }
        this.#change(toolCallId, ({ type, rawInput }) => ({
          state: 'output-error',
          ...gone,
          errorText,
          ...NO_RAW_INPUT,
          ...(type !== 'dynamic-tool' && { rawInput }),
          ...extras,
          ...result,
        }))
        break
      }
      case 'tool-output-denied':
        this.#change(chunk.toolCallId, () => ({ state: 'output-denied' }))
        break
      default:
        break
    }
  }

  /** A call belongs to the step of its newest input: a draft of an earlier step stays there. */
  #putCall(call: string, head: UIMessagePart): void {
    const place = this.#places.get(call)
    if (place !== undefined && place >= this.#step) return
    this.#readDraft(call)
    this.#put(call, { ...head, toolCallId: call }, true)
  }

  /** The input of a draft is what can be read of it. It is read once, not after every delta. */
  #readDraft(call: string): void {
    const { text = '', encoding } = this.#drafts.get(call) ?? {}
    if (text !== '') this.#change(call, () => ({ input: encoding === 'text' ? text : parsePartialJson(text) }))
  }

  /** Removes the parts of the current step. */
  #resetStep(): void {
    this.list.splice(this.#step)
    for (const [key, place] of this.#places) {
      if (place < this.#step) continue
      this.#places.delete(key)
      this.#drafts.delete(key)
    }
  }

  /** Replaces an existing part, or adds it. */
  #put(key: string, part: UIMessagePart, isNew = false): void {
    const place = isNew ? undefined : this.#places.get(key)
    if (place !== undefined) this.list[place] = part
    else this.#places.set(key, this.list.push(part) - 1)
  }

  #change(key: string, changes: (part: UIMessagePart) => object): void {
    const place = this.#places.get(key)
    const part = place === undefined ? undefined : this.list[place]
    if (part !== undefined) this.list[place!] = { ...part, ...changes(part) }
  }
}

/** The client keeps the text of an input only while it is drafted, and after errors of tools that it knows. */
const NO_RAW_INPUT = { rawInput: undefined, inputEncoding: undefined } as const

const INPUT_STATES = {
  'tool-input-start': 'input-streaming',
  'tool-input-available': 'input-available',
  'tool-input-error': 'output-error',
} as const

/** The fields that have a value. */
function given(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))
}
