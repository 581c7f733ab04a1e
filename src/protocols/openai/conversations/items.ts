/** The items of a conversation, from its runs and added by the client, in order. */
import { isHoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Run } from '../../../core/model/run.ts'
import type { Service } from '../../../core/service.ts'
import { jsonBytes } from '../../../http/response/respond.ts'
import { foldRun } from '../../../http/response/view.ts'
import { type Part, parseItemId } from '../wire/ids.ts'
import type { PageOptions } from '../wire/lists.ts'
import { toInputItems, toItem } from '../responses/items.ts'
import { responseProjection } from '../responses/projection.ts'
import { type ResponseState, isEnded } from '../responses/state.ts'
import type { AddedItem, StoredConversation } from './stored.ts'

export interface ListedItem {
  readonly id: string
}

export interface ListedItems {
  readonly items: readonly ListedItem[]
  /** Items are missing because events of a run were trimmed. */
  readonly isTrimmed: boolean
}

type Source =
  | { readonly time: string; readonly run: Run; readonly first: number }
  | { readonly time: string; readonly added: AddedItem }

/**
 * Reads one more item than a page needs, starting with the run of `after`, until the page's item or byte limit is reached.
 */
export async function itemsOf(
  service: Service,
  principal: Principal,
  conversation: Pick<StoredConversation, 'session' | 'body'>,
  { limit, order, after }: PageOptions,
): Promise<ListedItems> {
  const oldestFirst = await sourcesOf(service, principal, conversation)
  const sources = order === 'asc' ? oldestFirst : oldestFirst.toReversed()
  const first = after === undefined ? 0 : sources.findIndex((source) => isOf(source, after))
  const items: ListedItem[] = []
  let left = after === undefined ? limit + 1 : Infinity
  let bytesLeft = service.limits.maxResponseBytes
  for (const source of first < 0 ? [] : sources.slice(first)) {
    const own = await itemsIn(service, principal, source)
    for (const item of order === 'asc' ? own : own.toReversed()) {
      items.push(item)
      if (item.id === after) {
        left = limit + 1
        bytesLeft = service.limits.maxResponseBytes
        continue
      }
      left--
      bytesLeft -= jsonBytes(item)
    }
    if (left <= 0 || (bytesLeft < 0 && left < limit)) break
  }
  const isTrimmed = sources.some((source) => 'run' in source && source.first > 0)
  return { items: order === 'asc' ? items : items.toReversed(), isTrimmed }
}

function isOf(source: Source, item: string): boolean {
  return 'added' in source ? source.added.id === item : source.run.id === parseItemId(item)?.run
}

/** Finds one item without reading the others; undefined if the conversation has none with this id. */
export async function findItem(
  service: Service,
  principal: Principal,
  { session, body }: StoredConversation,
  id: string,
): Promise<ListedItem | undefined> {
  const added = body.items?.find((item) => item.id === id)
  if (added !== undefined) return toAdded(added)
  const part = parseItemId(id)
  if (part === undefined) return undefined
  try {
    const { run } = await service.get(principal, part.run)
    if (run.session !== session) return undefined
    const { items } = await itemsInPart(service, principal, part)
    return items.find((item) => item.id === id)
  } catch (cause) {
    if (isHoldfastError(cause, 'not_found')) return undefined // not a run of the caller
    throw cause
  }
}

async function sourcesOf(
  service: Service,
  principal: Principal,
  { session, body }: Pick<StoredConversation, 'session' | 'body'>,
): Promise<Source[]> {
  const sources: Source[] = (body.items ?? []).map((added) => ({ time: added.addedAt, added }))
  for (let after: string | undefined; sources.length < SOURCES_MAX;) {
    const page = await service.list(principal, {
      session,
      limit: service.limits.maxPageRuns,
      ...(after !== undefined && { after }),
    })
    sources.push(...page.runs.map(({ run, first }) => ({ time: run.createdAt, run, first })))
    if (page.cursor === undefined) break
    after = page.cursor
  }
  return sources.toSorted((left, right) => (left.time < right.time ? -1 : left.time > right.time ? 1 : 0))
}

/** Maximum runs per listing; the newest ones. */
const SOURCES_MAX = 5000

async function itemsIn(service: Service, principal: Principal, source: Source): Promise<ListedItem[]> {
  if ('added' in source) return [toAdded(source.added)]
  const items: ListedItem[] = []
  for (let number = 0; number < PARTS_MAX; number++) {
    const part = await itemsInPart(service, principal, { run: source.run.id, number })
    items.push(...part.items)
    if (part.isLast) break
  }
  return items
}

interface PartItems {
  readonly items: readonly ListedItem[]
  readonly isLast: boolean
}

async function itemsInPart(service: Service, principal: Principal, part: Part): Promise<PartItems> {
  const state: ResponseState = await foldRun(service, principal, part.run, responseProjection(part.number))
  if (state.created === undefined) return { items: [], isLast: true }
  const asked = toInputItems(part, state.input) as ListedItem[]
  return { items: [...asked, ...state.items], isLast: !isEnded(state) }
}

/** Maximum parts per run: pauses for the caller's tools. */
const PARTS_MAX = 100

export function toAdded({ id, message }: AddedItem): ListedItem {
  return { id, ...(message === undefined ? {} : toItem(message)) }
}
