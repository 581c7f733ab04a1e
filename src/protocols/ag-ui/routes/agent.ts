/** `POST {api}` runs an agent. `GET` of a thread attaches to its run; `GET` of a run's events follows them from a cursor. */
import { HoldfastError } from '../../../core/model/errors.ts'
import { isFinished } from '../../../core/model/run.ts'
import type { Component } from '../../../core/ports/component.ts'
import { parseBody } from '../../../http/request/body-shape.ts'
import { readJson } from '../../../http/request/body.ts'
import { componentIn, findComponent } from '../../../http/request/find-component.ts'
import { encodeHeader } from '../../../http/request/header-text.ts'
import { respondEmpty, respondJson, respondText } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { stopWhenGone } from '../../../http/response/stop-when-gone.ts'
import type { Streams } from '../../../http/response/stream.ts'
import { attach, type AttachedStream } from '../requests/attach.ts'
import { capabilitiesOf } from '../requests/capabilities.ts'
import { messagesBefore } from '../requests/history.ts'
import { send } from '../requests/send.ts'
import type { Threads } from '../requests/threads.ts'
import { agentFormat, encodeSnapshot, eventStreamType, runHeaders } from '../wire/stream.ts'

/** Loaded lazily, because zod loads more slowly than the server starts. */
const loadShapes = (): Promise<typeof import('../requests/shapes.ts')> => import('../requests/shapes.ts')

export function agentRoutes(threads: Threads, streams: Streams): Route[] {
  const path = '/ag-ui/{component}'
  return [
    { method: 'POST', path, handle: (call) => runAgent(call, threads, streams) },
    { method: 'GET', path, handle: (call) => describe(call, threads) },
    { method: 'GET', path: `${path}/threads/{thread}`, handle: (call) => connect(call, threads, streams) },
    { method: 'POST', path: `${path}/threads/{thread}/stop`, handle: (call) => stop(call, threads) },
    { method: 'GET', path: `${path}/runs/{run}/events`, handle: (call) => followRun(call, threads, streams) },
  ]
}

async function runAgent(call: Call, threads: Threads, streams: Streams): Promise<void> {
  const { service } = threads
  const component = componentOf(call, threads)
  const { runBody } = await loadShapes()
  const body = parseBody(runBody, await readJson(call.request, service.limits.maxBodyBytes))
  const stream = await send(threads, { principal: call.principal, component, body })
  if (component.onDisconnect === 'stop' && stream.hasEnded !== true) stopWhenGone(call, service, stream.run)
  await follow(call, threads, streams, stream)
}

function describe(call: Call, threads: Threads): void {
  respondJson(call.response, 200, capabilitiesOf(componentOf(call, threads)))
}

async function connect(call: Call, threads: Threads, streams: Streams): Promise<void> {
  const { principal, params } = call
  const component = componentOf(call, threads)
  const stored = await threads.current(principal, component, params['thread']!)
  if (stored === undefined) return respondEmpty(call.response, 204)
  const messages = await messagesBefore(threads, principal, component, stored)
  await follow(call, threads, streams, await attach(threads, stored, { messages }))
}

/** For clients that keep the id of the last event. */
async function followRun(call: Call, threads: Threads, streams: Streams): Promise<void> {
  const { principal, params } = call
  const stored = await threads.run(principal, componentOf(call, threads), params['run']!)
  const position = lastEventId(call)
  const view = threads.view(stored)
  const { state } = await view.current(stored.next)
  if (position >= state.position)
    throw new HoldfastError('cursor_invalid', `Last-Event-ID: run ${stored.run.id} has no event ${position} yet`)
  // Tells an `EventSource` not to reconnect.
  if (isFinished(stored.run.status) && position === state.position - 1) return respondEmpty(call.response, 204)
  const from = view.nearest({ event: Infinity, frame: position + 1 })
  const { id: run, session } = stored.run
  await follow(call, threads, streams, { view, run, session, earlier: [], from, after: position })
}

async function follow(call: Call, { service }: Threads, streams: Streams, stream: AttachedStream): Promise<void> {
  const { response, principal } = call
  response.setHeader('holdfast-session', encodeHeader(stream.session))
  if (stream.hasEnded === true)
    return respondText(
      response,
      200,
      eventStreamType,
      encodeSnapshot(stream, stream.snapshot ?? []),
      runHeaders(stream),
    )
  const format = agentFormat(stream)
  await streams.serve(response, format, (sink) => service.subscribe(principal, stream.run, format.after, sink))
}

/** Stops the unfinished runs of a thread. */
async function stop(call: Call, threads: Threads): Promise<void> {
  const { principal, params } = call
  const runs = await threads.unfinished(principal, componentOf(call, threads), params['thread']!)
  for (const { run } of runs) await threads.service.stop(principal, run.id, 'the user stopped it')
  respondJson(call.response, 200, { stopped: runs.map(({ run }) => run.id) })
}

function componentOf(call: Call, { service }: Threads): Component {
  return findComponent(service, componentIn(call))
}

/** -1: from the beginning. */
function lastEventId({ request, query }: Call): number {
  const header = request.headers['last-event-id']
  const text = (typeof header === 'string' ? header : undefined) ?? query.get('after') ?? '-1'
  if (/^(?:-1|\d{1,15})$/.test(text)) return Number(text)
  throw new HoldfastError('cursor_invalid', 'Last-Event-ID must be the id of an event of this stream')
}
