/** `GET /runs/{id}/links`: the ids of a run in each protocol, and a position translated to all of them. */
import { assertReadable, START } from '../../../core/model/cursor.ts'
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { Service } from '../../../core/service.ts'
import type { LogCursor } from '../../../core/delivery/shared-view.ts'
import { respondJson } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import type { LinkedProtocol, RunLink } from '../../../http/run-link.ts'
import type { NativeLinks } from '../wire/links.ts'
import type { LinkShape, LinksShape } from '../wire/shapes.ts'

interface OpenLink extends RunLink, Pick<LinkedProtocol, 'protocol' | 'place'> {}

export function runLinksRoute(service: Service, links: NativeLinks, linked: readonly LinkedProtocol[]): Route {
  return {
    method: 'GET',
    path: '/runs/{id}/links',
    handle: (call) => serveLinks(call, service, links, linked),
  }
}

async function serveLinks(
  call: Call,
  service: Service,
  links: NativeLinks,
  linked: readonly LinkedProtocol[],
): Promise<void> {
  const asked = readPosition(call.query)
  const stored = await service.get(call.principal, call.params['id']!)
  const { run } = stored
  const opened = await Promise.all(
    linked.map(async ({ protocol, place, link }) => ({ protocol, place, ...(await link(stored)) })),
  )
  const cursor = asked === undefined ? { index: stored.next - 1, isExact: true } : await cursorOf(stored, opened, asked)
  const url = `${links.run(call, run.id)}/events`
  const native: LinkShape = {
    protocol: 'native',
    id: run.id,
    session: run.session,
    url,
    position: cursor.index,
    resume: { url: cursor.index === START ? url : `${url}?after=${cursor.index}` },
  }
  const others: LinkShape[] = []
  // Sequentially: each may read the whole log, and one request should not do many such reads concurrently.
  for (const each of opened) others.push(await linkAt(call, stored, each, cursor.index))
  const body: LinksShape = { run: run.id, cursor: cursor.index, exact: cursor.isExact, links: [native, ...others] }
  respondJson(call.response, 200, body)
}

interface AskedPosition {
  readonly protocol: string
  readonly position: number
}

function readPosition(query: URLSearchParams): AskedPosition | undefined {
  const protocol = query.get('protocol')
  const position = query.get('position')
  if (protocol === null && position === null) return undefined
  if (protocol === null || position === null)
    throw new HoldfastError('invalid_request', 'send both protocol and position, or neither')
  if (!/^(-1|\d{1,15})$/.test(position))
    throw new HoldfastError(
      'invalid_request',
      `position is ${JSON.stringify(position.slice(0, 100))}; it must be the number of the last event that the client has`,
    )
  return { protocol, position: Number(position) }
}

async function cursorOf(
  stored: StoredRun,
  opened: readonly OpenLink[],
  { protocol, position }: AskedPosition,
): Promise<LogCursor> {
  if (protocol === 'native') {
    assertReadable(stored, position)
    return { index: position, isExact: true }
  }
  const link = opened.find((each) => each.protocol === protocol)
  if (link === undefined) {
    const known = ['native', ...opened.map((each) => each.protocol)].join(', ')
    throw new HoldfastError(
      'invalid_request',
      `${JSON.stringify(protocol.slice(0, 100))} has no positions; use ${known}`,
    )
  }
  assertWhole(stored)
  await link.view.current(stored.next)
  return link.view.cursorAt(position)
}

/** Throws for a trimmed log: protocols renumber its frames. */
function assertWhole({ run, first }: StoredRun): void {
  if (first === 0) return
  throw new HoldfastError('cursor_expired', `run ${run.id}: events before ${first} were trimmed`, {
    details: { earliest: first },
  })
}

async function linkAt(call: Call, stored: StoredRun, link: OpenLink, cursor: number): Promise<LinkShape> {
  const { protocol, id, session, place } = link
  const position = await positionAt(stored, link, cursor)
  const { path, headers } = link.resume(position === START ? undefined : position)
  return {
    protocol,
    id,
    session,
    url: call.base + place(link.path),
    ...(position !== undefined && { position }),
    resume: { url: call.base + place(path), ...(headers !== undefined && { headers }) },
  }
}

/** Undefined if the log was trimmed, or is too large to fold. */
async function positionAt({ first, next }: StoredRun, { view }: RunLink, cursor: number): Promise<number | undefined> {
  if (first > 0) return undefined
  try {
    await view.current(next)
    return await view.frameAt(cursor)
  } catch (cause) {
    if (isHoldfastError(cause, 'too_large')) return undefined
    throw cause
  }
}
