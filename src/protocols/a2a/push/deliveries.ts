/** How far the pushes of each configuration have come: documents, so that any node can go on where another left off. */
import type { Document } from '../../../core/model/document.ts'
import type { OwnedDocuments } from '../../../core/sessions/owned-documents.ts'

/** Those that are under way. One is removed when its task has ended and the receiver has been told so. */
export const DELIVERIES = 'a2a.push.delivery'
/** Those that were given up. Retried, they go on with what could not be delivered. */
export const DEAD_LETTERS = 'a2a.push.dead'

export interface Delivery {
  readonly task: string
  readonly config: string
  /** Where the pushes go, to bound how many go there at once. */
  readonly host?: string
  /** The last event of the log when it began, with which the task is shown first; -1 for the whole of it. */
  readonly from: number
  /** Number of the last event of the wire that was delivered. */
  readonly sequence?: number
  /** Events of the log that there was nothing more to tell of. */
  readonly told?: number
  /** Failures in a row. */
  readonly failures: number
  /** Not tried before this, in milliseconds since 1970. */
  readonly due: number
  readonly error?: string
  readonly lease?: { readonly by: string; readonly until: number }
}

export function deliveryId(task: string, config: string): string {
  return `${task}/${config}`
}

/** One that is under way goes on as it is. */
export async function beginDelivery(
  documents: OwnedDocuments,
  task: string,
  config: string,
  from: number,
  host: string,
): Promise<void> {
  const body: Delivery = { task, config, host, from, failures: 0, due: 0 }
  const id = deliveryId(task, config)
  await documents.put({ collection: DELIVERIES, id, label: task, body }, 0)
}

export async function endDelivery(documents: OwnedDocuments, task: string, config: string): Promise<void> {
  for (const collection of [DELIVERIES, DEAD_LETTERS]) await documents.remove(collection, deliveryId(task, config))
}

export function deliveryIn({ body }: Document): Delivery {
  return body as Delivery
}
