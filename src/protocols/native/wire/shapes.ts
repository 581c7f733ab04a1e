/** Request and response schemas of the native protocol, which are public contract. Loaded lazily. */
import { z } from 'zod'
import { HoldfastError } from '../../../core/model/errors.ts'
import { defaultLimits } from '../../../core/model/limits.ts'
import type { RunStatus } from '../../../core/model/run.ts'
import { shareActions } from '../../../core/access/share-links.ts'

const name = z.string().min(1).max(defaultLimits.maxNameChars)

export const runStatus: z.ZodType<RunStatus> = z.enum([
  'queued',
  'running',
  'paused',
  'completed',
  'failed',
  'cancelled',
  'rejected',
])

/** Any value. Depth and size are checked when it is appended to the log. */
const present = z.unknown().refine((value) => value !== undefined, { message: 'is missing' })

const record = z
  .unknown()
  .refine((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    message: 'must be an object',
  })
  .meta({ type: 'object' }) as z.ZodType<Record<string, unknown>>

export const startBody = z.strictObject({
  component: name.describe('Id of the component to run.'),
  input: present.describe('Input of the component: a string or any JSON value.'),
  session: name.optional().describe('Groups runs. Default: a new session.'),
  metadata: record.optional().describe('Stored with the run and passed to the component.'),
})

export const stopBody = z.strictObject({ reason: z.string().max(1000).optional() })

export const answerBody = z
  .strictObject({
    answers: record.optional().describe('By question id.'),
    answer: z.unknown().optional().describe('For a run with one open question.'),
  })
  .refine((body) => (body.answers === undefined) !== (body.answer === undefined), {
    message: 'send either answers or answer',
  })

const shareAction = z.enum(shareActions)

export const shareBody = z.strictObject({
  can: z
    .array(shareAction)
    .min(1)
    .max(10)
    .optional()
    .describe('What the link allows; always includes read. Default: read.'),
  expiresInMs: z.int().positive().optional().describe('Default: one day. At most 365 days.'),
})

export const shareShape = z.object({
  id: z.string(),
  run: z.string(),
  can: z.array(shareAction),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  path: z
    .string()
    .optional()
    .describe('Path of the link on the server. Only the response that creates the link has it.'),
})
export type ShareShape = z.infer<typeof shareShape>

export const renameBody = z.strictObject({ name: name.describe('What the session is called from now on.') })

export const sessionShape = z.object({
  id: z.string(),
  name: z.string().describe('Default: its id.'),
  component: z.string().optional().describe('The component of its first run.'),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
})
export type SessionShape = z.infer<typeof sessionShape>

export const forgetBody = z.strictObject({
  principal: name.describe('Principal: its id in tokens, or key:NAME.'),
  tenant: name.optional().describe('The tenant of that principal.'),
  stop: z
    .boolean()
    .optional()
    .describe('Stop unfinished runs. Default: false, which rejects the request if there are any.'),
  dryRun: z.boolean().optional().describe('Only count. Default: false.'),
})

const removedCounts = { runs: z.int(), documents: z.int().describe('Sessions included.') }

export const forgottenShape = z.union([
  z.object({ progress: z.object(removedCounts) }),
  z.object({
    report: z.object({
      principal: z.string(),
      tenant: z.string().optional(),
      dryRun: z.boolean(),
      ...removedCounts,
      unfinished: z.int().describe('Number of unfinished runs among them.'),
      apiKeys: z.int(),
    }),
  }),
  z.object({ error: z.record(z.string(), z.unknown()).describe('The error that ended the request, as problem JSON.') }),
])
export type ForgottenShape = z.infer<typeof forgottenShape>

const question = z.object({
  id: z.string(),
  kind: z.enum(['input', 'approval', 'tool', 'choice', 'review', 'uncertain', 'diverged']),
  prompt: z.string(),
  schema: z.unknown().optional(),
  details: z.unknown().optional(),
  deadline: z.iso.datetime().optional(),
})

const failure = z.object({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean().optional(),
  details: z.unknown().optional(),
})

export const runShape = z.object({
  id: z.string(),
  component: z.string(),
  version: z.string().optional().describe('Version of the component that last executed the run, or accepted it.'),
  session: z.string(),
  status: runStatus,
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  startedAt: z.iso.datetime().optional(),
  finishedAt: z.iso.datetime().optional(),
  attempt: z.int().describe('Starts so far.'),
  interruptions: z
    .int()
    .optional()
    .describe('Attempts that ended because their worker died, or gave the run up in a store outage.'),
  suspect: z
    .object({ interruptions: z.int(), concurrency: z.int() })
    .optional()
    .describe(
      'The current attempt follows a crash: interruptions in a row without progress, and how many suspects execute at once.',
    ),
  released: z.literal(true).optional().describe('Its worker released it; another one will continue it.'),
  events: z.int().describe('Number of events so far; the last index is one less.'),
  earliest: z.int().describe('Index of the earliest event that was not trimmed.'),
  metadata: z.record(z.string(), z.unknown()).optional(),
  protocol: z.string().optional().describe('Protocol that started the run.'),
  branch: z
    .object({
      from: z.string().describe('The run that it continues.'),
      before: z
        .object({ createdAt: z.iso.datetime(), id: z.string() })
        .describe('Its session history ends before this run.'),
      replaces: z
        .literal(true)
        .optional()
        .describe('Later runs of the session get this run as history, not the one that it continues.'),
    })
    .optional()
    .describe('The run continues another one from a position in its conversation.'),
  waiting: z.array(question).optional().describe('Open questions of a paused run.'),
  stopRequested: z.boolean().optional(),
  damaged: z.boolean().optional(),
  output: z.unknown().optional().describe('Output of a completed run; not in listings.'),
  reason: z.string().optional().describe('Why it was rejected or cancelled, if known.'),
  error: failure.optional().describe('Why a failed run failed.'),
  shared: z
    .object({ can: z.array(shareAction), expiresAt: z.iso.datetime() })
    .optional()
    .describe("What the request's share link allows."),
})
export type RunShape = z.infer<typeof runShape>

export const linkShape = z.object({
  protocol: z.string(),
  id: z.string().describe('What the protocol calls the run.'),
  session: z.string().describe('What the protocol calls its session.'),
  url: z.string().describe('Path of the run.'),
  position: z
    .int()
    .optional()
    .describe(
      'Number of the last event up to the cursor; -1 before the first. Absent if the log was trimmed or is too large.',
    ),
  resume: z
    .object({ url: z.string(), headers: z.record(z.string(), z.string()).optional() })
    .describe('The GET request that streams what follows the position.'),
})
export type LinkShape = z.infer<typeof linkShape>

export const linksShape = z.object({
  run: z.string(),
  cursor: z.int().describe('Index of the last event of the log of which the client has everything.'),
  exact: z.boolean().describe('False if the client also has a part of the next event, which another protocol repeats.'),
  links: z.array(linkShape),
})
export type LinksShape = z.infer<typeof linksShape>

export const eventShape = z.object({
  run: z.string(),
  index: z.int(),
  time: z.iso.datetime(),
  type: z.string(),
  actor: z.unknown().optional(),
  data: z.record(z.string(), z.unknown()),
})

export const componentShape = z.object({
  id: z.string(),
  kind: z.enum(['agent', 'team', 'workflow']),
  name: z.string().optional(),
  description: z.string().optional(),
  version: z.string().optional(),
  inputSchema: z.record(z.string(), z.unknown()).optional().describe('JSON Schema of its input, if it has one.'),
  outputSchema: z.record(z.string(), z.unknown()).optional().describe('JSON Schema of its output, if it has one.'),
  recovery: z.enum(['fail', 'retry', 'resume']),
  onBusySession: z.enum(['reject', 'enqueue', 'interrupt', 'parallel']),
})

export type ComponentShape = z.infer<typeof componentShape>

export const problemShape = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
  retryable: z.boolean(),
  requestId: z.string(),
  details: z.unknown().optional(),
})

export function parseBody<Shape extends z.ZodType>(shape: Shape, body: unknown): z.infer<Shape> {
  const parsed = shape.safeParse(body)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.map(
    ({ path, message }) => `${path.length === 0 ? 'body' : path.join('.')}: ${message}`,
  )
  throw new HoldfastError('invalid_request', issues.slice(0, 5).join('; ').slice(0, 1000))
}
