/** Zod schemas of request bodies. Loaded lazily, because zod loads more slowly than the server starts. */
import type { z } from 'zod'
import { HoldfastError } from '../../core/model/errors.ts'

const PROBLEM_CHARS_MAX = 1000

/** Treats null as absent. */
export function maybe<Shape extends z.ZodType>(shape: Shape) {
  return shape.nullish().transform((value) => value ?? undefined)
}

/** Throws `invalid_request` that names the first invalid field. */
export function parseBody<Shape extends z.ZodType>(shape: Shape, body: unknown): z.infer<Shape> {
  const result = shape.safeParse(body ?? {})
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  const where = path.length === 0 ? 'the body' : path.map(String).join('.')
  throw new HoldfastError('invalid_request', `${where}: ${message}`.slice(0, PROBLEM_CHARS_MAX))
}
