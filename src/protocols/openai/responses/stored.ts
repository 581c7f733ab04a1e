/** Finds stored responses: any run of the caller, from any protocol, except those with `store: false`. */
import type { Checkpoint, SharedView } from '../../../core/delivery/shared-view.ts'
import { type HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Service } from '../../../core/service.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { foldRun } from '../../../http/response/view.ts'
import { notFound } from '../wire/errors.ts'
import { type Part, parseResponseId } from '../wire/ids.ts'
import { aboutOf, assertUntrimmed } from '../requests/start.ts'
import { type ResponseFrame, responseKind, responseProjection } from './projection.ts'
import type { ItemLookup } from './items.ts'
import type { ResponseState } from './state.ts'

export interface StoredResponse {
  readonly part: Part
  readonly stored: StoredRun
}

/** `isKept`: whether the caller's connection has a response with `store: false`. */
export async function findResponse(
  service: Service,
  principal: Principal,
  id: string,
  missing: () => HoldfastError = () =>
    notFound(`Response with id '${id.slice(0, 200)}' not found.`, { param: 'response_id', code: 'response_not_found' }),
  isKept: (id: string) => boolean = () => false,
): Promise<StoredResponse> {
  const part = parseResponseId(id)
  if (part === undefined) throw missing()
  try {
    const stored = await service.get(principal, part.run)
    if (isUnstored(stored) && !isKept(id)) throw missing()
    return { part, stored }
  } catch (cause) {
    throw isHoldfastError(cause, 'not_found') ? missing() : cause
  }
}

/** Whether it was created with `store: false`: only the connection that created it may refer to it. */
function isUnstored({ run }: StoredRun): boolean {
  const about = aboutOf(run)
  return about?.store === false && about.api === 'responses'
}

/** The current state of a response. `isLookup`: it is not sent to the client. */
export async function readResponse(
  service: Service,
  principal: Principal,
  id: string,
  { part, stored }: StoredResponse,
  isLookup = false,
): Promise<ResponseState> {
  assertUntrimmed(stored)
  const state = await foldRun(service, principal, part.run, responseProjection(part.number), { isLookup })
  assertBegun(id, state)
  return state
}

export interface ViewedResponse {
  readonly view: SharedView<ResponseState, ResponseFrame>
  /** The end of the log. */
  readonly end: Checkpoint<ResponseState>
}

/** The view that streams of a response share. */
export async function viewResponse(
  service: Service,
  id: string,
  { part, stored }: StoredResponse,
): Promise<ViewedResponse> {
  assertUntrimmed(stored)
  const view = service.views.open(stored, responseKind(part.number))
  const end = await view.current(stored.next)
  assertBegun(id, end.state)
  return { view, end }
}

/** A later part exists once the results of the caller's tools have started it. */
function assertBegun(id: string, { created }: ResponseState): void {
  if (created !== undefined) return
  throw notFound(`Response with id '${id.slice(0, 200)}' not found.`, {
    param: 'response_id',
    code: 'response_not_found',
  })
}

/** Finds items by id, reading each response once. */
export function itemLookup(service: Service, principal: Principal): ItemLookup {
  const responses = new Map<string, Promise<ResponseState>>()
  return async (id) => {
    const missing = (): HoldfastError =>
      notFound(`Item with id '${id.slice(0, 200)}' not found.`, { param: 'input', code: 'item_not_found' })
    const [, name, number] = /^(?:msg|rs|fc|fco|mcp)_(.+)_(\d{1,6})$/.exec(id) ?? []
    if (name === undefined) throw missing()
    const response = `resp_${name}`
    let reading = responses.get(response)
    if (reading === undefined) {
      reading = findResponse(service, principal, response, missing).then((found) =>
        readResponse(service, principal, response, found, true),
      )
      responses.set(response, reading)
    }
    const item = (await reading).items[Number(number)]
    if (item === undefined) throw missing()
    return item
  }
}
