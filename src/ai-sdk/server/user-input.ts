/** The input of a durable run: what the user said, for history and for people who look at the run. */
import type { UIMessage } from 'ai'

/** Files are kept by address; their data is the application's. */
const DATA_URL_CHARS_MAX = 256 * 1024

/** Null if the client continues a message of the assistant. */
export function inputOf(message: UIMessage | undefined): unknown {
  if (message?.role !== 'user') return null
  const text = message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const files = message.parts.flatMap((part) => {
    if (part.type !== 'file' || part.url.length > DATA_URL_CHARS_MAX) return []
    const { mediaType, url, filename: name } = part
    const data = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1]
    return [{ mediaType, ...(data === undefined ? { url } : { data }), ...(name !== undefined && { name }) }]
  })
  return files.length === 0 ? text : { text, files }
}
