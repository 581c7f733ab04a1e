/** Schemas of A2A 1.0 requests. As in ProtoJSON, unknown fields are dropped and null means absent. */
import { z } from 'zod'
import { inCamelCase } from '../../../a2a/untyped-json.ts'
import { listOf } from '../../../http/request/list-shape.ts'
import { invalidParams } from '../wire/errors.ts'
import { taskStates, type TaskState } from '../view/states.ts'
import type { ListRequest, PushConfigRequest, SendRequest } from '../wire/wire.ts'

/** Throws `invalid_request` with all invalid fields. */
export function parseRequest<Shape extends z.ZodType>(shape: Shape, given: unknown): z.output<Shape> {
  const parsed = shape.safeParse(given ?? {})
  if (parsed.success) return parsed.data
  const fields = parsed.error.issues.map(({ path, message }) => ({ field: path.join('.'), description: message }))
  const [first] = fields
  throw invalidParams(
    `${first?.field || 'the request'}: ${first?.description ?? 'is wrong'}`,
    fields.slice(0, FIELDS_MAX),
  )
}

const FIELDS_MAX = 20

/** A message object. Accepts protobuf field names too, such as `task_id` for `taskId`. */
function wire<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.preprocess(inCamelCase, z.object(fields))
}

/** Treats null as absent. */
function maybe<Shape extends z.ZodType>(shape: Shape) {
  return z.preprocess((value) => value ?? undefined, shape.optional()).optional()
}

const text = z.string()
const metadata = z.record(text, z.unknown())
const names = maybe(listOf(text, { max: 100 }))

/** Maximum parts per message. */
const PARTS_MAX = 1000

const historyLength = maybe(z.int().min(0))

const part = wire({
  text: maybe(text),
  raw: maybe(z.string().regex(/^[\w+/-]*={0,2}$/, 'is not base64')),
  url: maybe(text),
  data: z.unknown().optional(),
  metadata: maybe(metadata),
  filename: maybe(text),
  mediaType: maybe(text),
})
  .superRefine((given, context) => {
    const contents = (['text', 'raw', 'url', 'data'] as const).filter((name) => given[name] !== undefined)
    if (contents.length !== 1)
      context.addIssue({ code: 'custom', message: 'must have exactly one of text, raw, url and data' })
  })
  .transform(withoutUndefined)

const message = wire({
  messageId: text.min(1, 'is empty').max(1024),
  contextId: maybe(text),
  taskId: maybe(text),
  role: z.enum(['ROLE_USER', 'ROLE_AGENT']),
  parts: listOf(part, { min: 1, max: PARTS_MAX }),
  metadata: maybe(metadata),
  extensions: names,
  referenceTaskIds: names,
}).transform(withoutUndefined)

const pushConfig = wire({
  id: maybe(text),
  taskId: maybe(text),
  url: text.min(1, 'is empty'),
  token: maybe(text),
  authentication: maybe(wire({ scheme: text, credentials: maybe(text) }).transform(withoutUndefined)),
}).transform(withoutUndefined)

const states = Object.keys(taskStates) as [TaskState, ...TaskState[]]

const tenant = { tenant: maybe(text) }

export const sendRequest = wire({
  ...tenant,
  message,
  configuration: maybe(
    wire({
      acceptedOutputModes: names,
      taskPushNotificationConfig: maybe(pushConfig),
      historyLength,
      returnImmediately: maybe(z.boolean()),
    }),
  ),
  metadata: maybe(metadata),
}) as unknown as z.ZodType<SendRequest & { tenant?: string }>

export const taskRequest = wire({ ...tenant, id: text.min(1, 'is empty'), historyLength, metadata: maybe(metadata) })

export const listRequest = wire({
  ...tenant,
  contextId: maybe(text),
  status: maybe(z.enum(['TASK_STATE_UNSPECIFIED', ...states])),
  pageSize: maybe(z.int()),
  pageToken: maybe(text),
  historyLength,
  statusTimestampAfter: maybe(text),
  includeArtifacts: maybe(z.boolean()),
}) as unknown as z.ZodType<ListRequest & { tenant?: string }>

export const pushConfigRequest = wire({ ...tenant }).and(pushConfig) as unknown as z.ZodType<
  PushConfigRequest & { tenant?: string }
>

export const pushConfigQuery = wire({
  ...tenant,
  taskId: text.min(1, 'is empty'),
  id: maybe(text),
  pageSize: maybe(z.int().min(0)),
  pageToken: maybe(text),
})

export const cardRequest = wire(tenant)

function withoutUndefined<Value extends object>(value: Value): Value {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Value
}
