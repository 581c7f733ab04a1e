/** Starts a run for a request, with deduplication, and stops it on disconnect if requested. */
import type { Component } from '../../../core/ports/component.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Checkpoint } from '../../../core/delivery/shared-view.ts'
import type { ViewKind } from '../../../core/delivery/view-cache.ts'
import { isFinished, type Run } from '../../../core/model/run.ts'
import type { Service, StartedRun } from '../../../core/service.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { encodeHeader } from '../../../http/request/header-text.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { Streams } from '../../../http/response/stream.ts'
import { viewFormat, type FrameFormat } from '../../../http/response/view.ts'
import { type CallerResult, continueWith } from './caller-results.ts'
import { refusal } from '../wire/errors.ts'
import { type Part, toConversationId } from '../wire/ids.ts'
import { digestOf, header, type Requester, SESSION_HEADER } from './request.ts'

/** Run metadata of this protocol. */
export interface RequestOrigin {
  readonly api: 'chat' | 'responses'
  readonly digest: string
  readonly key?: string
  readonly user?: string
  readonly store?: boolean
  readonly background?: boolean
  readonly previous?: string
  /** Whether the caller named a conversation. */
  readonly conversation?: true
  /** How tools that the server executes are shown. Default: `mcp_call`. */
  readonly tools?: 'function_call'
  /** Whether the upstream got the original request. */
  readonly forwarded?: true
  /** Request fields to echo. */
  readonly echo?: Readonly<Record<string, unknown>>
}

export interface StartOptions {
  readonly component: Component
  /** May depend on the history; the key identifies this start within it. */
  readonly input: (key: string | undefined) => unknown
  /** The original body, for deduplication. */
  readonly body: unknown
  readonly session: string | undefined
  readonly metadata: Readonly<Record<string, unknown>>
  readonly about: Omit<RequestOrigin, 'digest' | 'key'>
}

async function startRun(call: Requester, service: Service, wishes: StartOptions): Promise<StartedRun> {
  const { component, input, body, session, metadata, about } = wishes
  if (Object.hasOwn(metadata, 'openai')) throw refusal('metadata must not have the key openai', { param: 'metadata' })
  // Streaming options do not count: an interrupted stream may be retried without streaming.
  const { stream: follows, stream_options: _options, ...asked } = body as Record<string, unknown>
  const digest = await digestOf([about.api, session ?? null, asked])
  const key = keyOf(call, digest, service.limits.maxNameChars)
  const earlier =
    key === undefined && isRetry(call) ? await findEarlier(call, service, component.id, digest) : undefined
  if (earlier !== undefined) return earlier
  return service.start(call.principal, {
    component: component.id,
    input: await input(key),
    protocol: 'openai',
    follows: follows === true,
    metadata: { ...metadata, openai: { ...about, digest, ...(key !== undefined && { key }) } },
    ...(session !== undefined && { session }),
    ...(key !== undefined && { idempotencyKey: key }),
  })
}

export interface StartedPart {
  readonly part: Part
  readonly created: boolean
}

/** Tool results continue the run that waits for them; other requests start a new one. */
export async function startPart(
  call: Requester,
  service: Service,
  results: readonly CallerResult[],
  wishes: () => Promise<StartOptions>,
): Promise<StartedPart> {
  const continued = results.length === 0 ? undefined : await continueWith(service, call, results)
  if (continued !== undefined) return { part: continued, created: true }
  const { stored, created } = await startRun(call, service, await wishes())
  return { part: { run: stored.run.id, number: 0 }, created }
}

/** A request id alone is not a key: with a different body it is a different request. */
function keyOf(call: Requester, digest: string, maxChars: number): string | undefined {
  const key = header(call, 'idempotency-key', maxChars)
  if (key !== undefined) return key
  const request = header(call, 'x-client-request-id', maxChars)
  return request === undefined ? undefined : `${request.slice(0, maxChars - digest.length - 1)} ${digest}`
}

/** The official SDKs send a retry count but no key. */
function isRetry(call: Requester): boolean {
  return Number(call.request.headers['x-stainless-retry-count'] ?? 0) > 0
}

/** The run of a request's first attempt: the newest with the same body that is unfinished or just completed. */
async function findEarlier(
  call: Requester,
  service: Service,
  component: string,
  digest: string,
): Promise<StartedRun | undefined> {
  const { runs } = await service.list(call.principal, { component, limit: EARLIER_RUNS_MAX })
  const found = runs.find(({ run }) => aboutOf(run)?.digest === digest)
  if (found === undefined) return undefined
  const { status, finishedAt = '' } = found.run
  const isLive = !isFinished(status) || (status === 'completed' && Date.now() - Date.parse(finishedAt) < EARLIER_MS)
  return isLive ? { stored: found, created: false } : undefined
}

const EARLIER_RUNS_MAX = 50
/** SDKs wait up to eight seconds before a retry. */
const EARLIER_MS = 10_000

/** Undefined if another protocol started the run. */
export function aboutOf({ metadata }: Pick<Run, 'metadata'>): RequestOrigin | undefined {
  return metadata?.['openai'] as RequestOrigin | undefined
}

/** Rejects trimmed logs, whose remainder would look like the complete response. */
export function assertUntrimmed({ run, first }: StoredRun): void {
  if (first === 0) return
  throw new HoldfastError('cursor_expired', `the events of run ${run.id} before ${first} were trimmed`, {
    details: { earliest: first },
  })
}

/** Response headers about the run. */
export function headersOf(run: Run, created = true): Record<string, string> {
  return {
    'holdfast-run': run.id,
    [SESSION_HEADER]: encodeHeader(toConversationId(run.session)),
    'x-request-id': run.id,
    ...(!created && { 'idempotency-replayed': 'true' }),
  }
}

export interface FollowedView<State, Frame> {
  readonly kind: ViewKind<State, Frame>
  readonly frameFormat: Omit<FrameFormat<Frame>, 'headers'>
  readonly headers: Readonly<Record<string, string>>
  /** Where the subscription starts, and which of the following frames the client needs. Default: all. */
  readonly from?: Checkpoint<State>
  readonly isNeeded?: (frame: Frame) => boolean
}

/** Streams a run until its part ends. */
export async function followRun<State, Frame>(
  call: Call,
  service: Service,
  streams: Streams,
  run: Run,
  { kind, frameFormat, headers, ...selection }: FollowedView<State, Frame>,
): Promise<void> {
  const view = service.views.open({ run, first: 0 }, kind)
  const format = viewFormat({ ...frameFormat, headers }, { view, ...selection })
  const { index } = selection.from ?? view.start
  await streams.serve(call.response, format, (stream) => service.subscribe(call.principal, run.id, index, stream))
}
