/** A figure: a measured number and its target. */
export interface Figure {
  readonly name: string
  readonly target: string
  readonly measured: string
  readonly value: number
  /** Undefined without a target. */
  readonly met: boolean | undefined
}

export function atLeast(name: string, target: number, measured: number, unit = ''): Figure {
  return { ...noted(name, measured, unit), target: `≥ ${show(target)}${unit}`, met: measured >= target }
}

export function atMost(name: string, target: number, measured: number, unit = ''): Figure {
  return { ...noted(name, measured, unit), target: `≤ ${show(target)}${unit}`, met: measured <= target }
}

/** A number without a target, for comparison or extrapolation. */
export function noted(name: string, measured: number, unit = ''): Figure {
  return { name, target: '', measured: `${show(measured)}${unit}`, value: measured, met: undefined }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

export function show(value: number): string {
  if (Math.abs(value) >= 10_000) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}

export function table(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, target, measured, met }) => [
    name,
    target,
    measured,
    met === undefined ? '' : met ? 'met' : 'NOT MET',
  ])
  return markdown(['figure', 'target', 'measured', ''], rows)
}

export function markdown(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  return [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
