/** Turns a start request into a new run. */
import type { BusyPolicy, Component } from '../ports/component.ts'
import type { Clock } from '../ports/clock.ts'
import { HoldfastError, isHoldfastError, messageOf } from '../model/errors.ts'
import type { Limits } from '../model/limits.ts'
import { checkName } from '../model/names.ts'
import type { NodeDeps } from '../node-deps.ts'
import { encodeRecord } from '../model/record.ts'
import { redactorOf } from '../redaction/redactor.ts'
import { encodeRequested, redactRequested } from '../execution/encode-requested.ts'
import type { Run } from '../model/run.ts'
import type { Branch } from '../model/event.ts'
import { serialize } from '../model/serialize.ts'
import { issuesText, validate, type ValidationResult } from '../schema/validate.ts'
import { startTimer } from '../runtime/timer.ts'
import type { NewRun } from '../ports/store.ts'

export interface StartCommand {
  readonly component: string
  readonly input: unknown
  readonly session?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly protocol: string
  readonly idempotencyKey?: string
  /** Branches from an earlier run of the caller at a position in its conversation. Default: follows the session's earlier runs. */
  readonly branch?: Branch
  /** Overrides the component's policy. */
  readonly onBusySession?: BusyPolicy
  /** The caller is about to stream the run: the start is refused if the caller has reached its limit of streams. Default: false. */
  readonly follows?: boolean
}

/** Builds the run and its first event from a start request. */
export async function draftRun(
  deps: NodeDeps,
  createdAt: number,
  owner: string,
  component: Component,
  request: StartCommand,
  policy: BusyPolicy,
): Promise<NewRun> {
  const { ids, limits } = deps
  const { protocol, idempotencyKey } = request
  checkMetadata(request.metadata, limits)
  if (request.session !== undefined) checkName('session', request.session, limits.maxNameChars)
  if (idempotencyKey !== undefined) checkName('idempotency key', idempotencyKey, limits.maxNameChars)
  const id = ids.run()
  const session = request.session ?? ids.session()
  const time = new Date(createdAt).toISOString()
  const { version } = component
  const created = redactRequested(
    {
      type: 'run.created',
      data: {
        component: component.id,
        ...(version !== undefined && { version }),
        session,
        ...(request.metadata !== undefined && { metadata: request.metadata }),
        protocol,
        ...(request.branch !== undefined && { branch: request.branch }),
        ...(component.upstream !== undefined && { upstream: component.upstream.protocol }),
        input: request.input,
      },
    },
    redactorOf(deps.redactor, component.redact),
    limits,
  )
  const { input, upstream: _upstream, ...shared } = created.data
  component.admit?.()
  await checkInput(deps, component, request.input, input)
  const run: Run = {
    ...shared,
    id,
    owner,
    status: 'queued',
    createdAt: time,
    updatedAt: time,
    attempt: 0,
    ...(policy !== 'parallel' && { lane: JSON.stringify([owner, session]) }),
  }
  const body = encodeRequested(created, limits)
  return {
    run,
    record: encodeRecord(id, 0, time, 'run.created', body),
    rejectIfBusy: policy === 'reject',
    ...(idempotencyKey !== undefined && {
      idempotency: { key: idempotencyKey, fingerprint: await fingerprint(request, deps, component) },
    }),
  }
}

function checkMetadata(metadata: unknown, limits: Limits): void {
  let text: string
  try {
    text = serialize(metadata ?? null, 'metadata', {
      maxDepth: limits.maxEventDepth,
      maxBytes: limits.maxMetadataBytes,
    })
  } catch (cause) {
    throw new HoldfastError('invalid_request', messageOf(cause), { cause })
  }
  if (UNSTORABLE.test(text))
    throw new HoldfastError(
      'invalid_request',
      'metadata contains U+0000 or a lone surrogate, which not every store can hold: remove it',
    )
}

/** JSON escapes of U+0000 and of lone surrogates, the only surrogates that are escaped. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i

/**
 * Agents get the input as stored. If redaction changed it, the result must match the schema too: otherwise the run would be accepted
 * and then fail to parse its own input.
 */
async function checkInput(
  { clock }: NodeDeps,
  { id, input: schema }: Component,
  sent: unknown,
  logged: unknown,
): Promise<void> {
  if (schema === undefined) return
  const refuse = ({ issues, cause }: ValidationResult, when: string): void => {
    if (issues === undefined) return
    if (isHoldfastError(cause)) throw cause
    throw new HoldfastError(
      'invalid_request',
      `the input does not match the schema of ${id}${when}: ${issuesText(issues)}`,
      {
        details: { issues },
      },
    )
  }
  refuse(await withTimeout(validate(schema, sent), id, clock), '')
  if (logged !== sent) refuse(await withTimeout(validate(schema, logged), id, clock), ' once it is redacted')
}

/** Maximum time of an asynchronous schema. */
const VALIDATION_MS = 10_000

async function withTimeout<Result>(validation: Promise<Result>, id: string, clock: Clock): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const message = `the input schema of ${id} took longer than ${VALIDATION_MS} ms to validate the input`
  const stop = startTimer(() => reject(new HoldfastError('unavailable', message)), VALIDATION_MS, clock)
  try {
    return await Promise.race([validation, late])
  } finally {
    stop()
  }
}

/** Fingerprint of a start. Keyed if inputs are redacted, so that short inputs cannot be guessed from it. */
async function fingerprint(
  { component, input, session, metadata, branch }: StartCommand,
  { digests, redactor }: NodeDeps,
  { redact }: Component,
): Promise<string> {
  const text = JSON.stringify([
    component,
    canonical(input),
    session ?? null,
    canonical(metadata ?? null),
    ...(branch === undefined ? [] : [canonical(branch)]),
  ])
  if (redactorOf(redactor, redact) !== undefined) return (await digests.of('idempotency'))(text)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Sorts the keys of a value. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => [key, canonical(item)] as const)
  return Object.fromEntries(entries.toSorted(([left], [right]) => (left < right ? -1 : 1)))
}
