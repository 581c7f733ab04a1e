/** Decodes bytes to text as they arrive. A character that is cut by a read is completed by the next one. */
import { LineError } from './lines.ts'

export async function* textOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (bytes?: Uint8Array): string => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
    } catch (cause) {
      throw new LineError('the output is not UTF-8', { cause })
    }
  }
  for await (const chunk of source) {
    const text = decode(chunk)
    if (text !== '') yield text
  }
  const rest = decode()
  if (rest !== '') yield rest
}
