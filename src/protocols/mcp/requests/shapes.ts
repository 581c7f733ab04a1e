/** Validation of parameters. Loaded lazily. */
import { z } from 'zod'
import { INVALID_PARAMS, rpcError } from '../wire/errors.ts'

const TEXT_CHARS_MAX = 1000
const TOKEN_CHARS_MAX = 8000

const name = z.string().min(1).max(TEXT_CHARS_MAX)
const json = z.record(z.string(), z.unknown())

export const initializeParams = z.looseObject({
  protocolVersion: name,
  capabilities: json.optional(),
})

const elicitationResult = z.looseObject({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: json.nullish().transform((value) => value ?? undefined),
})

export const callParams = z.looseObject({
  name,
  arguments: json.optional(),
  /** Only 2025-11-25. The server decides the time to live. */
  task: z.looseObject({ ttl: z.number().nullish() }).optional(),
  inputResponses: z.record(z.string(), elicitationResult).optional(),
  requestState: z.string().max(TOKEN_CHARS_MAX).optional(),
  _meta: json.optional(),
})

export const listParams = z.looseObject({ cursor: z.string().max(TOKEN_CHARS_MAX).optional() })

export const taskParams = z.looseObject({ taskId: name })

export const updateParams = z.looseObject({ taskId: name, inputResponses: z.record(z.string(), elicitationResult) })

export const elicitationResponse = elicitationResult

export const cancelledParams = z.looseObject({
  requestId: z.union([z.string().max(TEXT_CHARS_MAX), z.number()]),
  // Not refused, because a notification gets no response.
  reason: z
    .string()
    .transform((text) => text.slice(0, TEXT_CHARS_MAX))
    .optional(),
})

export type CallParams = z.infer<typeof callParams>

export function parseParams<Shape extends z.ZodType>(shape: Shape, params: unknown): z.output<Shape> {
  const result = shape.safeParse(params ?? {})
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  const where = path.length === 0 ? 'params' : path.map(String).join('.')
  throw rpcError(INVALID_PARAMS, `${where}: ${message}`.slice(0, TEXT_CHARS_MAX))
}
