/** Response routes: create, retrieve, cancel, delete. */
import type { Ids } from '../../../core/ports/clock.ts'
import type { Service } from '../../../core/service.ts'
import { isFinished } from '../../../core/model/run.ts'
import { respondJson } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import type { Streams } from '../../../http/response/stream.ts'
import { pageOf, readPage } from '../wire/lists.ts'
import { headersOf } from '../requests/start.ts'
import { compactResponse } from './compact.ts'
import { createResponse } from './create.ts'
import { toInputItems } from './items.ts'
import { toResponse } from './object.ts'
import { findResponse, readResponse, viewResponse } from './stored.ts'
import { followResponse, readStartingAfter } from './stream.ts'

export function responseRoutes(service: Service, streams: Streams, ids: Ids): Route[] {
  return [
    { method: 'POST', path: '/v1/responses', handle: (call) => createResponse(call, service, streams) },
    { method: 'POST', path: '/v1/responses/compact', handle: (call) => compactResponse(call, service, ids) },
    { method: 'GET', path: '/v1/responses/{id}', handle: (call) => retrieve(call, service, streams) },
    { method: 'DELETE', path: '/v1/responses/{id}', handle: (call) => remove(call, service) },
    { method: 'POST', path: '/v1/responses/{id}/cancel', handle: (call) => cancel(call, service) },
    { method: 'GET', path: '/v1/responses/{id}/input_items', handle: (call) => listInput(call, service) },
  ]
}

async function retrieve(call: Call, service: Service, streams: Streams): Promise<void> {
  const id = call.params['id']!
  const found = await findResponse(service, call.principal, id)
  const { part, stored } = found
  const headers = headersOf(stored.run)
  // Not by `Accept`: the official clients send JSON there even for streams.
  const isStream = call.query.get('stream') === 'true'
  const fromStart = isStream && part.number === 0 && !call.query.has('starting_after')
  if (fromStart) return followResponse(call, service, streams, { part, run: stored.run, headers })
  if (!isStream) {
    const state = await readResponse(service, call.principal, id, found)
    return respondJson(call.response, 200, toResponse(state), headers)
  }
  const { view, end } = await viewResponse(service, id, found)
  const after = readStartingAfter(call.query, end.state)
  const from = after === undefined ? undefined : view.nearest({ event: end.index, frame: after + 1 })
  await followResponse(call, service, streams, {
    part,
    run: stored.run,
    headers,
    ...(after !== undefined && from !== undefined && { resumed: { after, from } }),
  })
}

async function remove(call: Call, service: Service): Promise<void> {
  const id = call.params['id']!
  const { part } = await findResponse(service, call.principal, id)
  await service.delete(call.principal, part.run)
  respondJson(call.response, 200, { id, object: 'response', deleted: true })
}

/** Idempotent; no effect on a finished response. */
async function cancel(call: Call, service: Service): Promise<void> {
  const id = call.params['id']!
  const found = await findResponse(service, call.principal, id)
  await readResponse(service, call.principal, id, found, true)
  let stored = await service.stop(call.principal, found.part.run, 'cancelled by its caller')
  const until = performance.now() + service.limits.longPollTimeoutMs
  while (!isFinished(stored.run.status) && performance.now() < until && !call.signal.aborted) {
    const rest = until - performance.now()
    await service.waitForMore(call.principal, found.part.run, stored.next - 1, rest, call.signal)
    stored = await service.get(call.principal, found.part.run)
  }
  const state = await readResponse(service, call.principal, id, found)
  respondJson(call.response, 200, toResponse(state), headersOf(stored.run))
}

async function listInput(call: Call, service: Service): Promise<void> {
  const id = call.params['id']!
  const found = await findResponse(service, call.principal, id)
  const { input } = await readResponse(service, call.principal, id, found, true)
  const items = toInputItems(found.part, input) as { readonly id: string }[]
  respondJson(call.response, 200, pageOf(items, readPage(call.query)))
}
