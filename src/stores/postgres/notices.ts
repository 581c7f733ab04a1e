/** Encodes hints between nodes as NOTIFY payloads. */
import type { Hint } from '../../core/ports/store.ts'

/** A hint about a run for other nodes; they read the records from the log. */
export type Notice = Pick<Hint, 'run' | 'next' | 'stop' | 'claimable'>

/** PostgreSQL's limit is 8000 bytes. */
const NOTICE_BYTES_MAX = 7900

/** Packs hints into as few payloads as possible, each prefixed with the node's name. */
export function encodeNotices(node: string, notices: Iterable<Notice>): string[] {
  const texts: string[] = []
  let text = node
  for (const { run, next, stop = false, claimable = false } of notices) {
    const line = `\n${next} ${stop ? 's' : ''}${claimable ? 'c' : ''} ${run}`
    if (Buffer.byteLength(text) + Buffer.byteLength(line) > NOTICE_BYTES_MAX) {
      texts.push(text)
      text = node
    }
    text += line
  }
  if (text !== node) texts.push(text)
  return texts
}

/** Decodes a payload of another node. Empty for this node's own payloads and for foreign ones. */
export function decodeNotices(node: string, text: string): Notice[] {
  const [from, ...lines] = text.split('\n')
  if (from === node) return []
  return lines.flatMap((line) => {
    const [, next, marks, run] = /^(\d+) (s?c?) (.+)$/.exec(line) ?? []
    if (run === undefined) return []
    return [
      {
        run,
        next: Number(next),
        ...(marks!.includes('s') && { stop: true }),
        ...(marks!.includes('c') && { claimable: true }),
      },
    ]
  })
}
