/** Parts of messages and artifacts: of any value, and compared with the agent's. */
import { copySubstring } from './copy-substring.ts'
import { type Artifact, type Message, type Part, textOf } from './types.ts'

/** Whether a message only says what an artifact says: some servers also keep their result in the history. */
export function repeatsArtifact({ parts }: Message, artifacts: readonly Artifact[] = []): boolean {
  const text = textOf(parts).trim()
  return text !== '' && artifacts.some((artifact) => textOf(artifact.parts).includes(text))
}

/** `more`: the parts that the newer state adds. `older`: it has less. `other`: it differs. */
export type Difference = { readonly more: readonly Part[] } | 'older' | 'other'

/** Adjacent texts equal their concatenation: agents store them either way. */
export function difference(known: readonly Part[], next: readonly Part[]): Difference {
  const before = joinTexts(known)
  const after = joinTexts(next)
  const common = commonLength(before, after)
  const [left] = before.slice(common)
  const [right, ...rest] = after.slice(common)
  if (left === undefined) return { more: right === undefined ? [] : [right, ...rest] }
  if (right === undefined) return 'older'
  const isLast = common === before.length - 1
  if (isLast && isBareText(left) && isBareText(right) && right.text.startsWith(left.text))
    return { more: [...texts(copySubstring(right.text.slice(left.text.length))), ...rest] }
  if (rest.length === 0 && isBareText(left) && isBareText(right) && left.text.startsWith(right.text)) return 'older'
  return 'other'
}

function commonLength(before: readonly Part[], after: readonly Part[]): number {
  let at = 0
  while (at < before.length && at < after.length && isSame(before[at]!, after[at]!)) at++
  return at
}

function joinTexts(parts: readonly Part[]): Part[] {
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
 * Detects that the last parts of a snapshot arrive again: an event that is published while a snapshot is taken is often in
 * both. Buffers chunks while they may be such a repetition.
 */
export class Repetition<
  Chunk extends { readonly append?: boolean; readonly artifact: { readonly parts: readonly Part[] } },
> {
  readonly #parts: readonly Part[]
  #positions: readonly number[] | undefined
  #buffered: Chunk[] = []

  constructor(parts: readonly Part[]) {
    this.#parts = [...parts]
  }

  /** Returns chunks that are new after all, and whether more repetitions are possible. */
  take(chunk: Chunk): { readonly fresh: readonly Chunk[]; readonly repeats: boolean } {
    const { parts } = chunk.artifact
    const start = chunk.append === true ? this.#parts.map((_part, at) => at) : [0]
    const next = (this.#positions ?? start)
      .filter((position) =>
        parts.every((part, at) => position + at < this.#parts.length && isSame(part, this.#parts[position + at]!)),
      )
      .map((position) => position + parts.length)
    this.#buffered.push(chunk)
    if (next.length === 0) return { fresh: this.flush(), repeats: false }
    if (next.includes(this.#parts.length)) this.#buffered = []
    this.#positions = next.filter((position) => position < this.#parts.length)
    return { fresh: [], repeats: this.#positions.length > 0 }
  }

  flush(): readonly Chunk[] {
    return this.#buffered.splice(0)
  }
}

/** A text, a text with files, or any other value, as parts. */
export function partsOf(value: unknown): Part[] {
  if (typeof value === 'string') return [{ text: value }]
  const { text, files } = (value ?? {}) as { text?: unknown; files?: unknown }
  if (typeof text !== 'string') return [{ data: value ?? null }]
  return [...(text === '' ? [] : [{ text }]), ...(Array.isArray(files) ? files.map(filePart) : [])]
}

function filePart({ mediaType, data, url, name }: Readonly<Record<string, string | undefined>>): Part {
  return {
    ...(data === undefined ? { url: url ?? '' } : { raw: data }),
    ...(mediaType !== undefined && { mediaType }),
    ...(name !== undefined && { filename: name }),
  }
}
