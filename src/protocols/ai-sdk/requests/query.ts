/** Query parameters of a chat URL, which the client uses for all its requests. */
import type { ToolParts } from './chats.ts'
import { invalid } from './messages.ts'

export function readStartIndex(query: URLSearchParams): number {
  const text = query.get('startIndex') ?? '0'
  if (/^-?\d{1,15}$/.test(text)) return Number(text)
  throw invalid('startIndex must be the number of a chunk, or a negative number of chunks before the end')
}

/** `?tools=static` in the address of the API. */
export function toolsIn(query: URLSearchParams): ToolParts {
  const tools = query.get('tools') ?? 'dynamic'
  if (tools === 'static' || tools === 'dynamic') return tools
  throw invalid('tools must be static or dynamic')
}
