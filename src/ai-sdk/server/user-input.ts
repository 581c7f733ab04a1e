/** The input of a durable run: the user's message, for the history and for people who inspect the run. */
import type { UIMessage } from 'ai'

/** Files are kept by URL; the application stores their data. */
const DATA_URL_CHARS_MAX = 256 * 1024

/** Null if the client continues an assistant message. */
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
