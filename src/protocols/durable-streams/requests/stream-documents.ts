/** What a stream's log does not say: when it was last accessed, which streams were forked from it, and that its name is still taken. */
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Service } from '../../../core/service.ts'

/** One document per stream that has something to note. */
export const STREAMS = 'durable-stream'

export interface StreamFacts {
  /** Last access, in milliseconds since 1970. Only of streams with a TTL. */
  readonly at?: number
  /** When its lifetime is over unless it is accessed, in milliseconds since 1970. Only of streams with a lifetime. */
  readonly until?: number
  /** Streams that were forked from it and exist. */
  readonly forks?: number
  /** It was deleted, and has forks. */
  readonly deleted?: true
  /** Key of the stream that it was forked from. */
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

/** Accesses are noted twenty times in a lifetime, so the last one may be that much later than the noted one. */
export const LATEST_SHARE = 1.05

/** Notes an access, at most twenty times in the lifetime of the stream. A credential that may not write extends nothing. */
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

/** A fork is gone: its source, and whatever that was forked from, may be waiting only for that. */
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
