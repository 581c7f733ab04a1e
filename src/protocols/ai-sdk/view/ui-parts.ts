/** Builds the parts of a UI message from its chunks, as the AI SDK's client does. */
import type { Chunk } from '../wire/chunks.ts'

/** Parts are JSON: their shapes are those of the AI SDK's `UIMessagePart`. */
export interface UiMessagePart {
  readonly type: string
  readonly [field: string]: unknown
}

export function toUiParts(chunks: Iterable<Chunk>): readonly UiMessagePart[] {
  const parts = new PartList()
  for (const chunk of chunks) parts.add(chunk)
  return parts.list
}

class PartList {
  readonly list: UiMessagePart[] = []
  /** Positions of parts that later chunks change: open texts, tool calls, data with an id. */
  readonly #places = new Map<string, number>()

  add(chunk: Chunk): void {
    switch (chunk.type) {
      case 'start-step':
        this.list.push({ type: 'step-start' })
        break
      case 'text-start':
      case 'reasoning-start': {
        const [kind] = chunk.type.split('-') as ['text' | 'reasoning']
        const id = kind === 'reasoning' ? { id: chunk.id } : {}
        this.#put(`${kind} ${chunk.id}`, { type: kind, ...id, text: '', state: 'streaming' }, true)
        break
      }
      case 'text-delta':
      case 'reasoning-delta':
        this.#change(`${chunk.type.split('-')[0]} ${chunk.id}`, ({ text }) => ({ text: String(text) + chunk.delta }))
        break
      case 'text-end':
      case 'reasoning-end':
        this.#change(`${chunk.type.split('-')[0]} ${chunk.id}`, () => ({ state: 'done' }))
        break
      case 'source-url':
      case 'source-document':
      case 'file':
        this.list.push(chunk)
        break
      default:
        if (chunk.type.startsWith('data-')) this.#addData(chunk as Extract<Chunk, { type: `data-${string}` }>)
        else this.#addToTool(chunk)
    }
  }

  #addData(chunk: Extract<Chunk, { type: `data-${string}` }>): void {
    if (chunk.id === undefined) this.list.push({ ...chunk })
    else this.#put(`${chunk.type} ${chunk.id}`, { ...chunk })
  }

  #addToTool(chunk: Chunk): void {
    if (!('toolCallId' in chunk) && chunk.type !== 'tool-approval-response') return
    switch (chunk.type) {
      case 'tool-input-start':
      case 'tool-input-available': {
        const { toolCallId, toolName, dynamic = false } = chunk
        const head = dynamic ? { type: 'dynamic-tool', toolName } : { type: `tool-${toolName}` }
        const isWhole = chunk.type === 'tool-input-available'
        const state = isWhole ? 'input-available' : 'input-streaming'
        this.#put(toolCallId, { ...head, toolCallId, state, ...(isWhole && { input: chunk.input }) })
        break
      }
      case 'tool-approval-request': {
        const { approvalId: id, toolCallId, reason: requestReason } = chunk
        this.#places.set(`approval ${id}`, this.#places.get(toolCallId) ?? -1)
        this.#change(toolCallId, () => ({ state: 'approval-requested', approval: { id, requestReason } }))
        break
      }
      case 'tool-approval-response': {
        const { approvalId, approved, reason } = chunk
        this.#change(`approval ${approvalId}`, ({ approval }) => ({
          state: 'approval-responded',
          approval: { ...(approval as object), approved, ...(reason !== undefined && { reason }) },
        }))
        break
      }
      case 'tool-output-available': {
        const { output, preliminary } = chunk
        this.#change(chunk.toolCallId, () => ({ state: 'output-available', output, preliminary }))
        break
      }
      case 'tool-output-error':
        this.#change(chunk.toolCallId, () => ({ state: 'output-error', errorText: chunk.errorText }))
        break
      case 'tool-output-denied':
        this.#change(chunk.toolCallId, () => ({ state: 'output-denied' }))
        break
      default:
        break
    }
  }

  /** Replaces a part that is there, or adds it. */
  #put(key: string, part: UiMessagePart, isNew = false): void {
    const place = isNew ? undefined : this.#places.get(key)
    if (place !== undefined) this.list[place] = part
    else this.#places.set(key, this.list.push(part) - 1)
  }

  #change(key: string, changes: (part: UiMessagePart) => object): void {
    const place = this.#places.get(key)
    const part = place === undefined ? undefined : this.list[place]
    if (part !== undefined) this.list[place!] = { ...part, ...changes(part) }
  }
}
