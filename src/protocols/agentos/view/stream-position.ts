/** Where a resumed stream starts, and what its client missed. */
import type { State } from './state.ts'

export interface StreamPosition {
  /** Last event index that the client is assumed to have. */
  readonly lastIndex: number
  readonly requested: number
  readonly missed: number
  /** The client claimed a later event than exists. */
  readonly isClamped: boolean
}

/** A trimmed log is renumbered, so the client gets everything that is left. */
export function streamPositionIn({ next, trimmedBefore }: State, requestedIndex: number | undefined): StreamPosition {
  const requested = requestedIndex ?? -1
  if (trimmedBefore !== undefined)
    return { lastIndex: trimmedBefore - 1, requested, missed: next - trimmedBefore, isClamped: false }
  const lastIndex = Math.max(-1, Math.min(requested, next - 1))
  return { lastIndex, requested, missed: next - 1 - lastIndex, isClamped: requested > lastIndex }
}
