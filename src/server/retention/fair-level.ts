/**
 * Water-filling: the level to which the largest owners are lowered so that together they give up `excess`. Nobody at or below it
 * gives up anything, so an owner loses data only for what owners of its own size have stored.
 */
export function fairLevel(sizesDescending: readonly number[], excess: number): number {
  if (excess <= 0) return Infinity
  let sum = 0
  for (const [index, size] of sizesDescending.entries()) {
    sum += size
    const level = (sum - excess) / (index + 1)
    const next = sizesDescending[index + 1] ?? 0
    if (level >= next) return Math.max(0, Math.floor(level))
  }
  return 0
}
