/** Lists in bodies of clients, as a shape of zod. Loaded with the shapes that use it. */
import { z } from 'zod'

/**
 * A bounded array that is checked up to its first wrong item. `z.array` checks the length after the items, and collects the issues of
 * all of them: of a million wrong items, gigabytes.
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
