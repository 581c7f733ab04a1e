/** What a chunk of a UI message stream means, for every other protocol. */
import { emit } from '../../core/ports/component.ts'
import type { Event } from '../../core/model/event.ts'
import type { Chunk } from '../chunks.ts'

/** Names of tools, by call: results name only the call. */
export type ToolNames = Map<string, string>

export function eventsOf(chunk: Chunk, tools: ToolNames): readonly Event[] {
  switch (chunk.type) {
    case 'text-start':
      return [emit('text.started', { message: chunk.id })]
    case 'text-delta':
      return [emit('text.delta', { text: chunk.delta, message: chunk.id })]
    case 'text-end':
      return [emit('text.completed', { message: chunk.id })]
    case 'reasoning-start':
      return [emit('reasoning.started', { message: chunk.id })]
    case 'reasoning-delta':
      return [emit('reasoning.delta', { text: chunk.delta, message: chunk.id })]
    case 'reasoning-end':
      return [emit('reasoning.completed', { message: chunk.id })]
    case 'source-url':
    case 'source-document': {
      const { sourceId: source, title } = chunk
      const about = chunk.type === 'source-url' ? { url: chunk.url } : { mediaType: chunk.mediaType }
      return [emit('source.cited', { source, ...about, ...(title !== undefined && { title }) })]
    }
    case 'file':
      return [emit('artifact.added', { artifact: chunk.url.slice(0, 200), mediaType: chunk.mediaType, url: chunk.url })]
    default:
      return chunk.type.startsWith('data-') ? dataOf(chunk as DataChunk) : toolEventsOf(chunk, tools)
  }
}

type DataChunk = Extract<Chunk, { type: `data-${string}` }>

function dataOf({ type, data }: DataChunk): readonly Event[] {
  return [emit('custom.emitted', { name: type.slice('data-'.length), value: data })]
}

function toolEventsOf(chunk: Chunk, tools: ToolNames): readonly Event[] {
  if (!('toolCallId' in chunk)) return []
  const { toolCallId: call } = chunk
  if ('toolName' in chunk) tools.set(call, chunk.toolName)
  const name = tools.get(call) ?? 'tool'
  switch (chunk.type) {
    case 'tool-input-start':
      return [emit('tool.drafted', { call, name, delta: '' })]
    case 'tool-input-delta':
      return [emit('tool.drafted', { call, name, delta: chunk.inputTextDelta })]
    case 'tool-input-available':
      return [emit('tool.called', { call, name, input: chunk.input ?? null })]
    case 'tool-output-available': {
      const output = chunk.output ?? null
      return [
        chunk.preliminary === true
          ? emit('tool.progressed', { call, output })
          : emit('tool.completed', { call, name, output }),
      ]
    }
    case 'tool-input-error':
    case 'tool-output-error':
      return [emit('tool.failed', { call, name, error: { code: 'agent_failed', message: chunk.errorText } })]
    case 'tool-output-denied':
      return [emit('tool.failed', { call, name, error: { code: 'forbidden', message: 'the call was not approved' } })]
    default:
      return []
  }
}
