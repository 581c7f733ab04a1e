/** Maps token counts of other systems to Holdfast's. */
import type { Usage } from '../../core/model/event.ts'

type Counts = { readonly [Name in keyof Usage]: unknown }

/** Omits values that are not numbers. */
export function usageOf(counts: Counts): Usage {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => Number.isFinite(count)))
}
