/** State of a stream that is not in its log: last access, forks, and whether its name is still reserved. */
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Service } from '../../../core/service.ts'

/** Collection with one document per stream that needs one. */
export const STREAMS = 'durable-stream'

export interface StreamFacts {
  /** Last access, in milliseconds since 1970. Only for streams with a TTL. */
  readonly at?: number
  /** When it expires unless it is accessed, in milliseconds since 1970. Only for streams with a lifetime. */
  readonly until?: number
  /** Number of existing forks. */
  readonly forks?: number
  /** The stream was deleted but has forks. */
  readonly deleted?: true
  /** Key of the source stream. */
  readonly parent?: string
}

const TRIES_MAX = 20

export async function factsOf(service: Service, principal: Principal, key: string): Promise<StreamFacts | undefined> {
  return (await service.documents(principal).get(STREAMS, key))?.body as StreamFacts | undefined
}

/**
 * Changes the facts by compare-and-set; undefined removes them. A principal over its quota can still read and delete what it has; what
 * it creates is `withinQuota`.
 */
export async function changeFacts(
  service: Service,
  principal: Principal,
  key: string,
  change: (known: StreamFacts) => StreamFacts | undefined,
  { withinQuota = false }: { readonly withinQuota?: boolean } = {},
): Promise<StreamFacts | undefined> {
  const documents = service.documents(principal)
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const known = await documents.get(STREAMS, key)
    const body = change(known?.body ?? {})
    if (body === undefined) {
      if (known !== undefined) await documents.remove(STREAMS, key)
      return undefined
    }
    const draft = { collection: STREAMS, id: key, body }
    const put = await documents.put(draft, known?.version ?? 0, { beyondQuota: !withinQuota })
    if (put !== undefined) return body
  }
  throw new HoldfastError('unavailable', 'the stream is being changed by others: try again', { retryAfterMs: 1000 })
}

/** Accesses are recorded twenty times per lifetime, so the last one may be that much later than the recorded one. */
export const LATEST_SHARE = 1.05

/** Records an access, at most twenty times per TTL. A credential that may not write does not extend the TTL. */
export async function noteAccess(
  service: Service,
  principal: Principal,
  key: string,
  { ttlMs, now, at }: { readonly ttlMs: number; readonly now: number; readonly at: number },
): Promise<void> {
  if (now - at < ttlMs / 20) return
  try {
    await changeFacts(service, principal, key, (known) => {
      const last = Math.max(known.at ?? 0, now)
      return { ...known, at: last, until: last + ttlMs * LATEST_SHARE }
    })
  } catch (cause) {
    if (!isHoldfastError(cause, 'forbidden')) throw cause
  }
}

/** Releases the source of a removed fork, and its ancestors: they may only be waiting for that. */
export async function releaseParent(service: Service, principal: Principal, parent: string | undefined): Promise<void> {
  for (let key = parent; key !== undefined;) {
    let above: string | undefined
    const left = await changeFacts(service, principal, key, ({ forks = 1, ...known }) => {
      above = known.parent
      const rest = { ...known, ...(forks > 1 && { forks: forks - 1 }) }
      return (known.deleted === true && forks <= 1) || Object.keys(rest).length === 0 ? undefined : rest
    })
    const isGone = left === undefined && above !== undefined
    key = isGone ? above : undefined
  }
}
