/** Derives events from the chunks of a UI message stream, for all other protocols. */
import { createEvent } from '../../core/ports/component.ts'
import type { Event } from '../../core/model/event.ts'
import type { Chunk } from '../chunks.ts'

/** Names of tools, by call: results name only the call. */
export type ToolNames = Map<string, string>

export function derivedEvents(chunk: Chunk, tools: ToolNames): readonly Event[] {
  switch (chunk.type) {
    case 'text-start':
      return [createEvent('text.started', { message: chunk.id })]
    case 'text-delta':
      return [createEvent('text.delta', { text: chunk.delta, message: chunk.id })]
    case 'text-end':
      return [createEvent('text.completed', { message: chunk.id })]
    case 'reasoning-start':
      return [createEvent('reasoning.started', { message: chunk.id })]
    case 'reasoning-delta':
      return [createEvent('reasoning.delta', { text: chunk.delta, message: chunk.id })]
    case 'reasoning-end':
      return [createEvent('reasoning.completed', { message: chunk.id })]
    case 'source-url':
    case 'source-document': {
      const { sourceId: source, title } = chunk
      const about = chunk.type === 'source-url' ? { url: chunk.url } : { mediaType: chunk.mediaType }
      return [createEvent('source.cited', { source, ...about, ...(title !== undefined && { title }) })]
    }
    case 'file':
      return [
        createEvent('artifact.added', {
          artifact: chunk.url.slice(0, 200),
          mediaType: chunk.mediaType,
          url: chunk.url,
        }),
      ]
    default:
      return chunk.type.startsWith('data-') ? dataOf(chunk as DataChunk) : toolEventsOf(chunk, tools)
  }
}

type DataChunk = Extract<Chunk, { type: `data-${string}` }>

function dataOf({ type, data }: DataChunk): readonly Event[] {
  return [createEvent('custom.emitted', { name: type.slice('data-'.length), value: data })]
}

function toolEventsOf(chunk: Chunk, tools: ToolNames): readonly Event[] {
  if (!('toolCallId' in chunk)) return []
  const { toolCallId: call } = chunk
  if ('toolName' in chunk) tools.set(call, chunk.toolName)
  const name = tools.get(call) ?? 'tool'
  switch (chunk.type) {
    case 'tool-input-start':
      return [createEvent('tool.drafted', { call, name, delta: '' })]
    case 'tool-input-delta':
      return [createEvent('tool.drafted', { call, name, delta: chunk.inputTextDelta })]
    case 'tool-input-available':
      return [createEvent('tool.called', { call, name, input: chunk.input ?? null })]
    case 'tool-output-available': {
      const output = chunk.output ?? null
      return [
        chunk.preliminary === true
          ? createEvent('tool.progressed', { call, output })
          : createEvent('tool.completed', { call, name, output }),
      ]
    }
    case 'tool-input-error':
    case 'tool-output-error':
      return [createEvent('tool.failed', { call, name, error: { code: 'agent_failed', message: chunk.errorText } })]
    case 'tool-output-denied':
      return [
        createEvent('tool.failed', { call, name, error: { code: 'forbidden', message: 'the call was not approved' } }),
      ]
    default:
      return []
  }
}
