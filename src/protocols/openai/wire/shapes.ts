/** Validation of request bodies. Loaded lazily. */
import { z } from 'zod'
import { refusal } from './errors.ts'

/** Treats null as absent, as everywhere in this API. */
export function maybe<Shape extends z.ZodType>(shape: Shape): z.ZodType<z.infer<Shape> | undefined> {
  return shape.nullish().transform((value) => value ?? undefined)
}

/** Maximum entries per request. */
export const maxList = {
  messages: { max: 2000 },
  parts: { max: 1000 },
  tools: { max: 128 },
  toolCalls: { max: 128 },
} as const

export const metadataShape = z
  .record(z.string().max(64), z.string().max(512))
  .refine((value) => Object.keys(value).length <= 16, { message: 'more than 16 pairs' })

/** A caller's JSON schema, passed to the model as it is. */
export const schemaShape = z.record(z.string(), z.unknown())

export function parseBody<Shape extends z.ZodType>(shape: Shape, body: unknown): z.infer<Shape> {
  const result = shape.safeParse(body ?? {})
  if (result.success) return result.data
  const { path, message } = result.error.issues.map((issue) => closest(issue))[0]!
  const param = path.map(String).join('.')
  throw refusal(`${param === '' ? 'the body' : param}: ${message}`.slice(0, 1000), param === '' ? {} : { param })
}

interface Problem {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** The problem of the closest union member. */
function closest(issue: z.core.$ZodIssue): Problem {
  if (issue.code !== 'invalid_union') return issue
  const tried = issue.errors.flatMap((issues) => issues.slice(0, 1).map((each) => closest(each)))
  const [best] = tried.toSorted((left, right) => right.path.length - left.path.length)
  return best === undefined || best.path.length === 0 ? issue : { ...best, path: [...issue.path, ...best.path] }
}
