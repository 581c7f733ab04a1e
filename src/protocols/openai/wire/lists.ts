/** Pagination in OpenAI's format. */
import { jsonBytes } from '../../../http/response/respond.ts'
import { refusal } from './errors.ts'

export interface PageOptions {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  readonly after: string | undefined
}

export function readPage(query: URLSearchParams): PageOptions {
  const limit = query.get('limit') ?? '20'
  const order = query.get('order') ?? 'desc'
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > 100)
    throw refusal('limit must be a number from 1 to 100', { param: 'limit' })
  if (order !== 'asc' && order !== 'desc') throw refusal('order must be asc or desc', { param: 'order' })
  return { limit: Number(limit), order, after: query.get('after') ?? undefined }
}

/** One page of items, which are passed oldest first: as many as fit into `maxBytes`, at least one. */
export function pageOf(
  items: readonly { readonly id: string }[],
  { limit, order, after }: PageOptions,
  maxBytes = Infinity,
): object {
  const ordered = order === 'asc' ? items : items.toReversed()
  const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && start === 0) throw refusal(`item ${after.slice(0, 200)} not found`, { param: 'after' })
  const data: { readonly id: string }[] = []
  let bytesLeft = maxBytes
  for (const item of ordered.slice(start, start + limit)) {
    bytesLeft -= jsonBytes(item)
    if (bytesLeft < 0 && data.length > 0) break
    data.push(item)
  }
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + data.length < ordered.length,
  }
}
