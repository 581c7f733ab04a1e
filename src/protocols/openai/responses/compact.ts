/** `POST /v1/responses/compact`: packs a conversation into one item, to start another chain with. */
import type { Message } from '../../../core/schema/conversation.ts'
import type { Ids } from '../../../core/ports/clock.ts'
import type { Service } from '../../../core/service.ts'
import { readJson } from '../../../http/request/body.ts'
import { respondJson } from '../../../http/response/respond.ts'
import type { Call } from '../../../http/routing/route.ts'
import { itemsOf } from '../conversations/items.ts'
import { findComponent } from '../requests/request.ts'
import { refusal } from '../wire/errors.ts'
import { parseItemId } from '../wire/ids.ts'
import { sealCompaction } from './compaction.ts'
import { messagesFrom } from './items.ts'
import type { CompactBody, InputItem } from './shapes.ts'
import { findResponse, itemLookup } from './stored.ts'

const ITEMS_MAX = 5000

/** No model was called. */
const NO_USAGE = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
}

export async function compactResponse(call: Call, service: Service, ids: Ids): Promise<void> {
  const [{ parseBody }, { compactBody }] = await Promise.all([import('../wire/shapes.ts'), import('./shapes.ts')])
  const body = parseBody(compactBody, await readJson(call.request, service.limits.maxBodyBytes))
  findComponent(service, body.model)
  const messages = [...(await earlierMessages(call, service, body)), ...(await givenMessages(call, service, body))]
  if (messages.length === 0) throw refusal('there is nothing to compact: send input or previous_response_id')
  const id = ids.unique()
  respondJson(call.response, 200, {
    id: `resp_${id}`,
    object: 'response.compaction',
    created_at: Math.floor(Date.now() / 1000),
    output: [{ type: 'compaction', id: `cmp_${id}`, encrypted_content: sealCompaction(messages) }],
    usage: NO_USAGE,
  })
}

async function givenMessages({ principal }: Call, service: Service, { input = [] }: CompactBody): Promise<Message[]> {
  const items: readonly InputItem[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  return messagesFrom(items, itemLookup(service, principal))
}

/** The conversation up to a response. */
async function earlierMessages(
  { principal }: Call,
  service: Service,
  { previous_response_id: previous }: CompactBody,
): Promise<Message[]> {
  if (previous === undefined) return []
  const { stored } = await findResponse(service, principal, previous)
  const { session, id } = stored.run
  const page = { limit: ITEMS_MAX, order: 'asc', after: undefined } as const
  const { items, isTrimmed } = await itemsOf(service, principal, { session, body: {} }, page)
  if (isTrimmed)
    throw refusal('the conversation is not complete: events of it were trimmed', { param: 'previous_response_id' })
  const end = items.findLastIndex((item) => parseItemId(item.id)?.run === id)
  return messagesFrom(
    items.slice(0, end + 1) as readonly object[] as readonly InputItem[],
    itemLookup(service, principal),
  )
}
