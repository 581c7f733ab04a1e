/** What was said in a conversation: by its runs, and by hand, in the order in which it was said. */
import type { Principal } from '../../../core/principal.ts'
import type { Run } from '../../../core/run.ts'
import type { Service } from '../../../core/service.ts'
import { foldRun } from '../../../http/view.ts'
import type { PageWishes } from '../lists.ts'
import { toInputItems, toItem } from '../responses/items.ts'
import { responseProjection } from '../responses/projection.ts'
import { type ResponseState, isEnded } from '../responses/state.ts'
import type { AddedItem, StoredConversation } from './stored.ts'

export interface ListedItem {
  readonly id: string
}

type Source = { readonly time: string; readonly run: Run } | { readonly time: string; readonly added: AddedItem }

/** As many items as a page needs, and one more: a long conversation is not read to its end for each of them. */
export async function itemsOf(
  service: Service,
  principal: Principal,
  conversation: StoredConversation,
  { limit, order, after }: PageWishes,
): Promise<ListedItem[]> {
  const sources = await sourcesOf(service, principal, conversation)
  const items: ListedItem[] = []
  let left = after === undefined ? limit + 1 : Infinity
  for (const source of order === 'asc' ? sources : sources.toReversed()) {
    const own = await itemsIn(service, principal, source)
    for (const item of order === 'asc' ? own : own.toReversed()) {
      items.push(item)
      left = item.id === after ? limit + 1 : left - 1
    }
    if (left <= 0) break
  }
  return order === 'asc' ? items : items.toReversed()
}

async function sourcesOf(
  service: Service,
  principal: Principal,
  { session, body }: StoredConversation,
): Promise<Source[]> {
  const sources: Source[] = (body.items ?? []).map((added) => ({ time: added.addedAt, added }))
  for (let after: string | undefined; sources.length < SOURCES_MAX;) {
    const page = await service.list(principal, {
      session,
      limit: service.limits.pageRunsMax,
      ...(after !== undefined && { after }),
    })
    sources.push(...page.runs.map(({ run }) => ({ time: run.createdAt, run })))
    if (page.cursor === undefined) break
    after = page.cursor
  }
  return sources.toSorted((left, right) => (left.time < right.time ? -1 : left.time > right.time ? 1 : 0))
}

/** The newest runs of a session that a listing goes back to. */
const SOURCES_MAX = 5000

async function itemsIn(service: Service, principal: Principal, source: Source): Promise<ListedItem[]> {
  if ('added' in source) return [toAdded(source.added)]
  const items: ListedItem[] = []
  for (let number = 0; number < PARTS_MAX; number++) {
    const part = { run: source.run.id, number }
    const state: ResponseState = await foldRun(service, principal, part.run, responseProjection(number))
    if (state.created === undefined) break
    items.push(...(toInputItems(part, state.input) as ListedItem[]), ...state.items)
    if (!isEnded(state)) break
  }
  return items
}

/** How often one run can have waited for its caller's tools. */
const PARTS_MAX = 100

export function toAdded({ id, message }: AddedItem): ListedItem {
  return { id, ...(message === undefined ? {} : toItem(message)) }
}
