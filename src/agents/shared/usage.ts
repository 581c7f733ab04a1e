/** Tokens as others count them, as ours. */
import type { Usage } from '../../core/model/event.ts'

type Counts = { readonly [Name in keyof Usage]: unknown }

/** What is no number is left out. */
export function usageOf(counts: Counts): Usage {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => Number.isFinite(count)))
}
