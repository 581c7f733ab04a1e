/** Compares what is known of an artifact with what an agent says that it is. */
import { detached } from './detached.ts'
import type { Part } from './types.ts'

/** What a newer state of the same parts has more; `older` where it has less, and `other` where it is something else. */
export type Difference = { readonly more: readonly Part[] } | 'older' | 'other'

/** Texts that follow each other are the same as one: agents keep them either way. */
export function difference(known: readonly Part[], said: readonly Part[]): Difference {
  const before = joined(known)
  const after = joined(said)
  const common = commonLength(before, after)
  const [left] = before.slice(common)
  const [right, ...rest] = after.slice(common)
  if (left === undefined) return { more: right === undefined ? [] : [right, ...rest] }
  if (right === undefined) return 'older'
  const isLast = common === before.length - 1
  if (isLast && isBareText(left) && isBareText(right) && right.text.startsWith(left.text))
    return { more: [...texts(detached(right.text.slice(left.text.length))), ...rest] }
  if (rest.length === 0 && isBareText(left) && isBareText(right) && left.text.startsWith(right.text)) return 'older'
  return 'other'
}

function commonLength(before: readonly Part[], after: readonly Part[]): number {
  let at = 0
  while (at < before.length && at < after.length && isSame(before[at]!, after[at]!)) at++
  return at
}

function joined(parts: readonly Part[]): Part[] {
  const whole: Part[] = []
  let gathered: string[] = []
  const flush = (): void => {
    whole.push(...texts(gathered.join('')))
    gathered = []
  }
  for (const part of parts) {
    if (isBareText(part)) gathered.push(part.text)
    else {
      flush()
      whole.push(part)
    }
  }
  flush()
  return whole
}

function texts(text: string): Part[] {
  return text === '' ? [] : [{ text }]
}

function isBareText(part: Part): part is { readonly text: string } {
  return (
    part.text !== undefined &&
    part.metadata === undefined &&
    part.filename === undefined &&
    part.mediaType === undefined
  )
}

function isSame(one: Part, other: Part): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other)
}

/**
 * The parts of a snapshot, of which the last may come once more: what an agent publishes while it takes a snapshot is often in
 * both. Chunks are held back for as long as they may be such a repetition.
 */
export class Repetition<
  Chunk extends { readonly append?: boolean; readonly artifact: { readonly parts: readonly Part[] } },
> {
  readonly #parts: readonly Part[]
  #positions: readonly number[] | undefined
  #held: Chunk[] = []

  constructor(parts: readonly Part[]) {
    this.#parts = [...parts]
  }

  /** Chunks that are news after all, and whether more repetitions can come. */
  take(chunk: Chunk): { readonly news: readonly Chunk[]; readonly goesOn: boolean } {
    const { parts } = chunk.artifact
    const start = chunk.append === true ? this.#parts.map((_part, at) => at) : [0]
    const next = (this.#positions ?? start)
      .filter((position) =>
        parts.every((part, at) => position + at < this.#parts.length && isSame(part, this.#parts[position + at]!)),
      )
      .map((position) => position + parts.length)
    this.#held.push(chunk)
    if (next.length === 0) return { news: this.flush(), goesOn: false }
    if (next.includes(this.#parts.length)) this.#held = []
    this.#positions = next.filter((position) => position < this.#parts.length)
    return { news: [], goesOn: this.#positions.length > 0 }
  }

  flush(): readonly Chunk[] {
    return this.#held.splice(0)
  }
}
