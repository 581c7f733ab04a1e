/** Patterns of stream names: `*` matches one path segment, `**` any number of them. */
import type { SubscriptionConfig } from './model.ts'

/** A wake stream never wakes its own subscription. */
export function matchesPattern({ pattern, wakeStream }: SubscriptionConfig, name: string): boolean {
  return pattern !== undefined && name !== wakeStream && matchesGlob(pattern, name)
}

/** Linear in both lengths: a pattern of many `**` must not take exponential time. */
function matchesGlob(pattern: string, name: string): boolean {
  const segments = name.split('/')
  /** Whether the pattern so far matches the first n segments. */
  let matched = [true, ...segments.map(() => false)]
  for (const part of pattern.split('/')) {
    const next = segments.map((segment, at) => matched[at]! && (part === '*' || part === segment))
    if (part !== '**') {
      matched = [false, ...next]
      continue
    }
    const first = matched.indexOf(true)
    matched = matched.map((_, at) => first >= 0 && at >= first)
  }
  return matched.at(-1)!
}
