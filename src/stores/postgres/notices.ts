/** Hints between nodes, as the texts that NOTIFY carries. */
import type { Hint } from '../../core/ports/store.ts'

/** What one node tells the others of a run; the records themselves are read from the log. */
export type Notice = Pick<Hint, 'run' | 'next' | 'stop' | 'claimable'>

/** PostgreSQL takes less than 8000 bytes. */
const NOTICE_BYTES_MAX = 7900

/** Notices of a node in as few texts as they fit, each with the node's name first. */
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

/** What another node said; nothing where it is this node, or no text of ours. */
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
