/** Delivery progress per push configuration, kept as documents so that any node can resume another's deliveries. */
import type { Document } from '../../../core/model/document.ts'
import type { OwnedDocuments } from '../../../core/sessions/owned-documents.ts'
import { DEAD_LETTERS, DELIVERIES } from '../collections.ts'
import type { PushLimits } from './limits.ts'

export interface Delivery {
  readonly task: string
  readonly config: string
  /** Receiver's host, for the per-host limit. */
  readonly host?: string
  /** Log index at which the delivery starts with a snapshot of the task; -1 for the whole log. */
  readonly from: number
  /** Sequence number of the last delivered A2A event. */
  readonly sequence?: number
  /** Number of fully delivered log events. The stored documents call it `told`. */
  readonly told?: number
  /** Consecutive failures. */
  readonly failures: number
  /** Next attempt, in milliseconds since 1970. */
  readonly due: number
  readonly error?: string
  readonly lease?: { readonly by: string; readonly until: number }
}

export function deliveryId(task: string, config: string): string {
  return `${task}/${config}`
}

/** Leaves an active delivery unchanged. */
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

/** Delay before the next attempt after this many failures. Jitter shortens it by up to half. */
export function retryDelayMs(failures: number, limits: PushLimits): number {
  return Math.min(limits.maxRetryDelayMs, limits.retryDelayMs * 2 ** (failures - 1))
}

/** Whether an attempt is due. One that lies further ahead than its delay was scheduled before the wall clock was set back. */
export function isDue({ due, failures }: Delivery, now: number, limits: PushLimits): boolean {
  return due <= now || due > now + retryDelayMs(failures, limits)
}
