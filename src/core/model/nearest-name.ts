/** Finds the known name closest to a mistyped one. */

export function nearestName(text: string, candidates: readonly string[]): string | undefined {
  const near = candidates.map((candidate) => ({ candidate, edits: editsBetween(text, candidate) }))
  return near
    .filter(({ candidate, edits }) => edits <= EDITS_MAX && edits < candidate.length / 2)
    .toSorted((left, right) => left.edits - right.edits)[0]?.candidate
}

const EDITS_MAX = 2

/** Levenshtein distance. */
function editsBetween(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > EDITS_MAX) return Number.POSITIVE_INFINITY
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let index = 0; index < from.length; index++) {
    const next = [index + 1]
    for (let column = 1; column <= to.length; column++) {
      const replaced = row[column - 1]! + (from[index] === to[column - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[column]! + 1, next[column - 1]! + 1))
    }
    row = next
  }
  return row[to.length]!
}
