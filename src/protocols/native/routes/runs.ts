/** Handlers of `/runs`: start, list, get, delete, stop and answer. */
import { shareActions } from '../../../core/access/share-links.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import { cursorOf } from '../../../core/model/page.ts'
import type { Principal } from '../../../core/model/principal.ts'
import { isFinished, type RunStatus } from '../../../core/model/run.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { Service } from '../../../core/service.ts'
import { readJson } from '../../../http/request/body.ts'
import { readIdempotencyKey } from '../../../http/request/idempotency-key.ts'
import { readNumber } from '../../../http/request/read-number.ts'
import { jsonBytes, respondEmpty, respondJson } from '../../../http/response/respond.ts'
import type { Streams } from '../../../http/response/stream.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { NativeLinks } from '../wire/links.ts'
import { toRun } from '../wire/responses.ts'
import type { RunShape } from '../wire/shapes.ts'

/** Loaded lazily, because zod loads more slowly than the server starts. */
const loadShapes = (): Promise<typeof import('../wire/shapes.ts')> => import('../wire/shapes.ts')

export const loadEvents = (): Promise<typeof import('./events.ts')> => import('./events.ts')

export async function startRun(call: Call, service: Service, streams: Streams, links: NativeLinks): Promise<void> {
  const { parseBody, startBody } = await loadShapes()
  const body = parseBody(startBody, await readJson(call.request, service.limits.maxBodyBytes))
  const idempotencyKey = readIdempotencyKey(call.request.headers['idempotency-key'], service.limits.maxNameChars)
  const { session, metadata } = body
  const follows = (call.request.headers.accept ?? '').includes('text/event-stream')
  const { stored, created } = await service.start(call.principal, {
    component: body.component,
    input: body.input,
    protocol: 'native',
    follows,
    ...(session !== undefined && { session }),
    ...(metadata !== undefined && { metadata }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  })
  const { id } = stored.run
  const headers = { location: links.run(call, id), ...(!created && { 'idempotency-replayed': 'true' }) }
  if (!follows) return respondJson(call.response, 202, toRun(stored), headers)
  for (const [header, value] of Object.entries(headers)) call.response.setHeader(header, value)
  const { follow } = await loadEvents()
  await follow(call, service, streams, stored, { kind: 'earliest' }, 'sse')
}

export async function listRuns(call: Call, service: Service): Promise<void> {
  const { query } = call
  const component = query.get('component')
  const session = query.get('session')
  const version = query.get('version')
  const after = query.get('cursor')
  const status = query.getAll('status').flatMap((value) => value.split(','))
  const page = await service.list(call.principal, {
    limit: readNumber(query, 'limit', service.limits.maxPageRuns, 1, 50),
    ...(component !== null && { component }),
    ...(session !== null && { session }),
    ...(version !== null && { version }),
    ...(after !== null && { after }),
    ...(status.length > 0 && { status: await parseStatuses(status) }),
  })
  const runs = fitToBytes(page.runs, service.limits.maxResponseBytes)
  const last = runs.length < page.runs.length ? page.runs[runs.length - 1]!.run : undefined
  const cursor = last === undefined ? page.cursor : cursorOf(last)
  respondJson(call.response, 200, {
    runs,
    ...(cursor !== undefined && { cursor }),
    ...(page.unreadable !== undefined && { unreadable: page.unreadable }),
  })
}

/** As many runs as fit into the limit, at least one. */
function fitToBytes(listed: readonly StoredRun[], maxBytes: number): RunShape[] {
  const runs: RunShape[] = []
  let bytesLeft = maxBytes
  for (const stored of listed) {
    const run = toRun(stored)
    bytesLeft -= jsonBytes(run)
    if (bytesLeft < 0 && runs.length > 0) break
    runs.push(run)
  }
  return runs
}

async function parseStatuses(given: readonly string[]): Promise<RunStatus[]> {
  const { parseBody, runStatus } = await loadShapes()
  return given.map((value) => parseBody(runStatus, value))
}

export async function getRun(call: Call, service: Service): Promise<void> {
  const { principal } = call
  const run = await describeRun(call, service, await service.get(principal, call.params['id']!))
  respondJson(call.response, 200, principal.share === undefined ? run : { ...run, shared: sharedWith(principal) })
}

export async function removeRun(call: Call, service: Service): Promise<void> {
  await service.delete(call.principal, call.params['id']!)
  respondEmpty(call.response, 204)
}

export async function stopRun(call: Call, service: Service): Promise<void> {
  const id = call.params['id']!
  await service.get(call.principal, id)
  const { parseBody, stopBody } = await loadShapes()
  const { reason } = parseBody(stopBody, (await readJson(call.request, service.limits.maxBodyBytes)) ?? {})
  const wait = readNumber(call.query, 'wait', service.limits.longPollTimeoutMs, 0, 0)
  let stored = await service.stop(call.principal, id, reason)
  const until = performance.now() + wait
  while (!isFinished(stored.run.status) && performance.now() < until && !call.signal.aborted) {
    await service.waitForMore(call.principal, id, stored.next - 1, until - performance.now(), call.signal)
    stored = await service.get(call.principal, id)
  }
  respondJson(call.response, isFinished(stored.run.status) ? 200 : 202, await describeRun(call, service, stored))
}

export async function answerRun(call: Call, service: Service): Promise<void> {
  const stored = await service.get(call.principal, call.params['id']!)
  const { parseBody, answerBody } = await loadShapes()
  const { answers, answer } = parseBody(answerBody, await readJson(call.request, service.limits.maxBodyBytes))
  const answered = await service.answer(call.principal, stored, answers ?? answerToOne(stored, answer))
  respondJson(call.response, 202, toRun(answered))
}

function answerToOne({ run }: StoredRun, answer: unknown): Record<string, unknown> {
  const [question, another] = run.waiting ?? []
  if (question === undefined)
    throw new HoldfastError('conflict', `run ${run.id} is ${run.status}; it has no open question`)
  if (another !== undefined)
    throw new HoldfastError('invalid_request', `run ${run.id} has several open questions; send answers by id`)
  return { [question.id]: answer }
}

/** One run with its output. */
async function describeRun(call: Call, service: Service, stored: StoredRun): Promise<RunShape> {
  if (stored.run.status !== 'completed') return toRun(stored)
  const outcome = await service.outcome(call.principal, stored.run.id)
  return toRun(stored, outcome?.type === 'run.completed' ? outcome.data.output : undefined)
}

/** The share link's permissions, so that the page can hide other actions. */
function sharedWith({ scopes = [], credential }: Principal): RunShape['shared'] {
  const expiresAt = new Date(credential!.expiresAt!).toISOString()
  return { can: shareActions.filter((action) => scopes.some((scope) => scope.endsWith(`:${action}`))), expiresAt }
}
