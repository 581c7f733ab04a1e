/** Routes for dead letters: list failed deliveries, and retry them from where they stopped. */
import type { Document } from '../../../core/model/document.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Service } from '../../../core/service.ts'
import { respondEmpty, respondJson } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { DEAD_LETTERS, DELIVERIES } from '../collections.ts'
import { type Delivery, deliveryId, deliveryIn } from './deliveries.ts'

const PAGE = 50

export function deadLetterRoutes(service: Service): Route[] {
  return [
    { method: 'GET', path: '/a2a/dead-letters', handle: (call) => list(service, call) },
    { method: 'POST', path: '/a2a/dead-letters/{task}/{config}/retry', handle: (call) => retry(service, call) },
  ]
}

async function list(service: Service, { principal, query, response }: Call): Promise<void> {
  const offset = Number(query.get('pageToken') ?? 0)
  if (!Number.isSafeInteger(offset) || offset < 0)
    throw new HoldfastError('invalid_request', 'pageToken is invalid: use the nextPageToken of a page')
  const documents = service.documents(principal)
  const page = await documents.list({ collection: DEAD_LETTERS, ascending: true, offset, limit: PAGE })
  const next = offset + page.documents.length
  respondJson(response, 200, {
    deadLetters: page.documents.map(toDeadLetter),
    nextPageToken: next < page.total ? String(next) : '',
  })
}

function toDeadLetter(document: Document): object {
  const { task, config, sequence, failures, error } = deliveryIn(document)
  return {
    taskId: task,
    configId: config,
    /** The failed event is the next one. */
    delivered: sequence ?? null,
    attempts: failures,
    error,
    since: document.createdAt,
  }
}

/** Restores the delivery before removing the dead letter, so that a crash in between loses nothing. */
async function retry(service: Service, { principal, params, response }: Call): Promise<void> {
  const { task = '', config = '' } = params
  const documents = service.documents(principal)
  const id = deliveryId(task, config)
  const found = await documents.get(DEAD_LETTERS, id)
  if (found === undefined) throw new HoldfastError('not_found', 'dead letter not found')
  const { error: _error, ...rest } = deliveryIn(found)
  const body: Delivery = { ...rest, failures: 0, due: 0 }
  await documents.put({ collection: DELIVERIES, id, label: task, body }, 0)
  await documents.remove(DEAD_LETTERS, id)
  respondEmpty(response, 202)
}
