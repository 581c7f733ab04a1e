/** Merges the chunks of an upstream to one completion, including unknown fields. */

export type Chunk = Readonly<Record<string, unknown>>

/** Merges a chunk. `whole` is undefined for the first one. */
export function mergeChunk(whole: Chunk | undefined, chunk: Chunk): Chunk {
  if (whole === undefined) return chunk
  const { choices = [], ...rest } = chunk
  const { choices: known = [], ...head } = whole
  return { ...head, ...withoutNulls(rest), choices: byIndex(known as readonly Chunk[], choices as readonly Chunk[]) }
}

function withoutNulls(fields: Chunk): Chunk {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

/** Merges elements with the same `index`: choices and tool calls. */
function byIndex(known: readonly Chunk[], more: readonly Chunk[]): readonly Chunk[] {
  const all = new Map(known.map((each, at) => [each['index'] ?? at, each]))
  for (const [at, each] of more.entries()) {
    const index = each['index'] ?? at
    all.set(index, withMore(all.get(index), each) as Chunk)
  }
  return [...all.values()]
}

/** Text fields whose later values replace earlier ones. */
const REPLACED = new Set(['role', 'id', 'type', 'finish_reason', 'name', 'index'])

/** Texts and lists grow, objects are merged, other values are replaced. */
function withMore(known: unknown, more: unknown, name = ''): unknown {
  if (more === null || more === undefined) return known ?? more
  if (known === null || known === undefined) return more
  if (typeof known === 'string' && typeof more === 'string')
    return REPLACED.has(name) ? (more === '' ? known : more) : known + more
  if (Array.isArray(known) && Array.isArray(more))
    return isIndexed(known) && isIndexed(more)
      ? byIndex(known, more)
      : [...(known as unknown[]), ...(more as unknown[])]
  if (typeof known === 'object' && typeof more === 'object') {
    const result: Record<string, unknown> = { ...known }
    for (const [key, value] of Object.entries(more)) result[key] = withMore(result[key], value, key)
    return result
  }
  return more
}

function isIndexed(list: readonly unknown[]): list is readonly Chunk[] {
  return list.length > 0 && list.every((each) => typeof (each as Chunk | null)?.['index'] === 'number')
}

/** The object of a non-streaming response. */
export function wholeCompletion({ choices = [], ...head }: Chunk): object {
  return {
    ...head,
    object: 'chat.completion',
    choices: (choices as readonly Chunk[]).map(({ delta, ...choice }) => {
      const { tool_calls: calls, ...message } = (delta ?? {}) as Chunk
      return {
        ...choice,
        message: {
          role: 'assistant',
          content: null,
          ...message,
          ...(Array.isArray(calls) && {
            tool_calls: (calls as readonly Chunk[]).map(({ index: _index, ...call }) => call),
          }),
        },
      }
    }),
  }
}
