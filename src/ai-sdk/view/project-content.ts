/** Projects sources and artifacts. */
import type { LoggedEventOf } from '../../core/model/event.ts'
import type { ChatWriter } from './chat-writer.ts'

export function cite(writer: ChatWriter, { data }: LoggedEventOf<'source.cited'>): void {
  const { source: sourceId, url, title, mediaType = 'text/plain' } = data
  if (url === undefined)
    return writer.addPart({ type: 'source-document', sourceId, mediaType, title: title ?? sourceId })
  writer.addPart({ type: 'source-url', sourceId, url, ...(title !== undefined && { title }) })
}

/** Sends a file if it is complete, otherwise its pieces: sending the whole artifact with every piece would be quadratic. */
export function addArtifact(writer: ChatWriter, { data }: LoggedEventOf<'artifact.added'>): void {
  const { mediaType, url, bytes, append = false } = data
  if (url !== undefined) return writer.addPart({ type: 'file', url, mediaType })
  if (typeof bytes === 'string' && !append)
    return writer.addPart({ type: 'file', url: `data:${mediaType};base64,${bytes}`, mediaType })
  writer.addPart({ type: 'data-artifact', data })
}
