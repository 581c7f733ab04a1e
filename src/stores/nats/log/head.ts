/**
 * Header of every message of a run: its whole state except the description. A run's last message is therefore a snapshot, and
 * following a stream's headers is enough to know all its runs.
 */
import { isFinished, type Run, type RunStatus } from '../../../core/model/run.ts'
import type { ClaimOptions, Lease, NewRun, StopRequest, StoredRun } from '../../../core/ports/store.ts'

export interface Head {
  readonly id: string
  /** Unique message name, with which its writer recognizes it. */
  readonly name: string
  /** Number of this message in its run: 1, 2, 3 … */
  readonly ordinal: number
  /** This message holds the records `from` to `next - 1`. */
  readonly from: number
  readonly next: number
  /** Index of the earliest record that retention has kept. */
  readonly first: number
  readonly epoch: number
  readonly lease?: Lease | undefined
  readonly stopped: boolean
  /** Sequence of the message that starts with the run's description; 0: this one. */
  readonly described: number
  /** Bytes of the description at the start of this message. */
  readonly descriptionBytes: number
  /** Bytes of the whole content, description and records. Absent in messages of earlier versions. */
  readonly bytes?: number | undefined
  /** Content bytes of all stored messages of the run, including this one. Absent in messages of earlier versions. */
  readonly keptBytes?: number | undefined
  /** The content is not inline but in `count` part messages of this name, each of `bytes` except the last. */
  readonly parts?: { readonly name: string; readonly count: number; readonly bytes?: number | undefined } | undefined
  /** Creation order, in which runs are claimed and lanes execute. */
  readonly number: number
  readonly owner: string
  readonly component: string
  /** Version of the component. Absent in messages of earlier versions of the store. */
  readonly version?: string | undefined
  readonly session: string
  readonly createdAt: string
  readonly status: RunStatus
  readonly lane?: string | undefined
  readonly wakeAt?: number | undefined
  /** Tombstone. `removed`: the run was deleted. `void`: its creation was voided, so it must never exist. */
  readonly tombstone?: 'removed' | 'void' | undefined
  /** Sequences and record counts of preceding messages, newest first; see message-index.ts. */
  readonly back: readonly number[]
}

/** The fields that are too large, or too rarely needed, for every message. */
export interface Description {
  readonly run: Run
  readonly stop?: StopRequest | undefined
  readonly idempotency?: NewRun['idempotency'] | undefined
}

/** The head fields that are copied from the run. */
export function headOfRun({ id, owner, component, version, session, createdAt, status, lane, wakeAt }: Run) {
  return { id, owner, component, version, session, createdAt, status, lane, wakeAt }
}

/** Short keys: it is part of every message. */
export function encodeHead(head: Head): string {
  return JSON.stringify({
    i: head.id,
    u: head.name,
    p: head.ordinal,
    a: head.from,
    n: head.next,
    f: head.first || undefined,
    e: head.epoch,
    h: head.lease && [head.lease.worker, head.lease.until],
    q: head.stopped ? 1 : undefined,
    d: head.described || undefined,
    db: head.descriptionBytes || undefined,
    y: head.bytes,
    k: head.keptBytes,
    x: head.parts && [head.parts.name, head.parts.count, head.parts.bytes],
    m: head.number,
    o: head.owner,
    c: head.component,
    v: head.version,
    s: head.session,
    t: head.createdAt,
    r: head.status,
    l: head.lane,
    w: head.wakeAt,
    z: head.tombstone,
    b: head.back.length > 0 ? head.back : undefined,
  })
}

interface EncodedHead {
  readonly i: string
  readonly u: string
  readonly p: number
  readonly a: number
  readonly n: number
  readonly f?: number
  readonly e: number
  readonly h?: readonly [string, number]
  readonly q?: 1
  readonly d?: number
  readonly db?: number
  readonly y?: number
  readonly k?: number
  readonly x?: readonly [string, number, number?]
  readonly m: number
  readonly o: string
  readonly c: string
  readonly v?: string
  readonly s: string
  readonly t: string
  readonly r: RunStatus
  readonly l?: string
  readonly w?: number
  readonly z?: 'removed' | 'void'
  readonly b?: readonly number[]
}

export function decodeHead(text: string): Head {
  const encoded = JSON.parse(text) as EncodedHead
  return {
    id: encoded.i,
    name: encoded.u,
    ordinal: encoded.p,
    from: encoded.a,
    next: encoded.n,
    first: encoded.f ?? 0,
    epoch: encoded.e,
    lease: encoded.h && { worker: encoded.h[0], until: encoded.h[1] },
    stopped: encoded.q === 1,
    described: encoded.d ?? 0,
    descriptionBytes: encoded.db ?? 0,
    bytes: encoded.y,
    keptBytes: encoded.k,
    parts: encoded.x && { name: encoded.x[0], count: encoded.x[1], bytes: encoded.x[2] },
    number: encoded.m,
    owner: encoded.o,
    component: encoded.c,
    version: encoded.v,
    session: encoded.s,
    createdAt: encoded.t,
    status: encoded.r,
    lane: encoded.l,
    wakeAt: encoded.w,
    tombstone: encoded.z,
    back: encoded.b ?? [],
  }
}

/** Bytes that count towards the owner's usage. For messages of earlier versions only the last one is known. */
export function keptBytesOf({ keptBytes, bytes = 0 }: Pick<Head, 'keptBytes' | 'bytes'>): number {
  return keptBytes ?? bytes
}

/** `heldUntil`: time until which the worker has renewed its leases. */
export function storedRun(head: Head, { run, stop }: Description, heldUntil: number): StoredRun {
  const { first, next, epoch, lease } = head
  return {
    run,
    first,
    next,
    epoch,
    ...(lease && { lease: { worker: lease.worker, until: Math.max(lease.until, heldUntil) } }),
    ...(stop && { stop }),
  }
}

/** Whether a run can be claimed, apart from its lease and lane. */
export function isReady(
  { status, stopped, wakeAt }: Head,
  now: number,
  { paused = false }: ClaimOptions = {},
): boolean {
  if (isFinished(status)) return false
  return stopped || status !== 'paused' || paused || now >= (wakeAt ?? Infinity)
}
