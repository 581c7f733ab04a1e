/** A zod schema for lists in request bodies. */
import { z } from 'zod'

/**
 * A bounded array that stops at its first invalid item. `z.array` checks the length after the items and collects all their issues:
 * gigabytes for a million invalid items.
 */
export function listOf<Item extends z.ZodType>(
  item: Item,
  { min = 0, max }: { readonly min?: number; readonly max: number },
): z.ZodType<z.output<Item>[]> {
  return z.unknown().transform((value, context) => {
    const items: z.output<Item>[] = []
    if (!Array.isArray(value)) {
      context.issues.push({ code: 'invalid_type', expected: 'array', input: value })
      return items
    }
    if (value.length > max)
      context.issues.push({ code: 'too_big', origin: 'array', maximum: max, inclusive: true, input: value })
    else if (value.length < min)
      context.issues.push({ code: 'too_small', origin: 'array', minimum: min, inclusive: true, input: value })
    if (context.issues.length > 0) return items
    for (const [index, each] of value.entries()) {
      const parsed = item.safeParse(each)
      if (!parsed.success) {
        for (const issue of parsed.error.issues)
          context.issues.push({ ...issue, path: [index, ...issue.path], input: each })
        return items
      }
      items.push(parsed.data)
    }
    return items
  })
}
