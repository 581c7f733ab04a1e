/**
 * The paths that a protocol owns, known before it is loaded. `/v1` is that path and everything below it; `/os/` is only that path,
 * with and without the slash. A segment in braces matches any one segment.
 */
export interface OwnedPath {
  readonly segments: readonly string[]
  /** Excludes paths below it. */
  readonly isExact: boolean
}

export function toOwnedPath(text: string): OwnedPath {
  const isExact = text.endsWith('/')
  return { segments: (isExact ? text.slice(0, -1) : text).split('/').slice(1), isExact }
}

/** `path`: segments of a request's path. */
export function covers({ segments, isExact }: OwnedPath, path: readonly string[]): boolean {
  if (!segments.every((segment, position) => isSame(segment, path[position]))) return false
  const below = path.slice(segments.length)
  return !isExact || below.length === 0 || (below.length === 1 && below[0] === '')
}

/** Whether some path matches both. */
export function overlap(one: OwnedPath, other: OwnedPath): boolean {
  const [short, long] = one.segments.length <= other.segments.length ? [one, other] : [other, one]
  if (!short.segments.every((segment, position) => isSame(segment, long.segments[position]))) return false
  return short.segments.length === long.segments.length || !short.isExact
}

function isSame(pattern: string, segment: string | undefined): boolean {
  return segment !== undefined && (pattern === segment || pattern.startsWith('{') || segment.startsWith('{'))
}
