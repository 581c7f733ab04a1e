/**
 * What every message of a run says in its header: the whole state of the run, apart from its description. So the last message
 * of a run tells all of it, and who follows the headers of a stream knows all its runs.
 */
import { isFinished, type Run, type RunStatus } from '../../core/model/run.ts'
import type { ClaimOptions, Lease, NewRun, StopRequest, StoredRun } from '../../core/ports/store.ts'

export interface Head {
  readonly id: string
  /** Names this message, so that whoever wrote it finds it again. */
  readonly name: string
  /** Place of this message among those of its run: 1, 2, 3 … */
  readonly place: number
  /** Records `from` to `next - 1` are in this message. */
  readonly from: number
  readonly next: number
  /** The earliest record that is kept. */
  readonly first: number
  readonly epoch: number
  readonly lease?: Lease | undefined
  readonly stopped: boolean
  /** Sequence of the message that begins with the run's description; 0: this one. */
  readonly described: number
  /** Bytes of the description at the beginning of this message. */
  readonly descriptionBytes: number
  /** Bytes of the whole content, description and records. Absent in messages of earlier versions. */
  readonly bytes?: number | undefined
  /** Bytes of the content of all messages that are kept of the run, this one included. Absent in messages of earlier versions. */
  readonly keptBytes?: number | undefined
  /** The content is in so many messages of this name, of so many bytes each but the last, and not here. */
  readonly parts?: { readonly name: string; readonly count: number; readonly bytes?: number | undefined } | undefined
  /** Runs are claimed, and driven in their lanes, in the order of these numbers. */
  readonly number: number
  readonly owner: string
  readonly component: string
  /** Of the component. Absent in messages of earlier versions of the store. */
  readonly version?: string | undefined
  readonly session: string
  readonly createdAt: string
  readonly status: RunStatus
  readonly lane?: string | undefined
  readonly wakeAt?: number | undefined
  /** There is no such run any more. `void`: and there must never be one, its creation was given up. */
  readonly gone?: 'removed' | 'void' | undefined
  /** Sequences and record counts of the messages before this one, newest first; see chains.ts. */
  readonly back: readonly number[]
}

/** What is too large, or too seldom asked for, to be in every message. */
export interface Description {
  readonly run: Run
  readonly stop?: StopRequest | undefined
  readonly idempotency?: NewRun['idempotency'] | undefined
}

/** The fields of a head that are a copy of the run's. */
export function headOfRun({ id, owner, component, version, session, createdAt, status, lane, wakeAt }: Run) {
  return { id, owner, component, version, session, createdAt, status, lane, wakeAt }
}

/** Short names: it is in every message. */
export function encodeHead(head: Head): string {
  return JSON.stringify({
    i: head.id,
    u: head.name,
    p: head.place,
    a: head.from,
    n: head.next,
    f: head.first || undefined,
    e: head.epoch,
    h: head.lease && [head.lease.owner, head.lease.until],
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
    z: head.gone,
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
    place: encoded.p,
    from: encoded.a,
    next: encoded.n,
    first: encoded.f ?? 0,
    epoch: encoded.e,
    lease: encoded.h && { owner: encoded.h[0], until: encoded.h[1] },
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
    gone: encoded.z,
    back: encoded.b ?? [],
  }
}

/** Bytes that count for the owner of a run; of what earlier versions wrote, only the last message is known. */
export function keptBytesOf({ keptBytes, bytes = 0 }: Pick<Head, 'keptBytes' | 'bytes'>): number {
  return keptBytes ?? bytes
}

/** `heldUntil`: when the owner of the lease last said it would be heard of again. */
export function storedRun(head: Head, { run, stop }: Description, heldUntil: number): StoredRun {
  const { first, next, epoch, lease } = head
  return {
    run,
    first,
    next,
    epoch,
    ...(lease && { lease: { owner: lease.owner, until: Math.max(lease.until, heldUntil) } }),
    ...(stop && { stop }),
  }
}

/** Whether a run may be taken, as far as it can be told without looking at who holds it and at its lane. */
export function isReady(
  { status, stopped, wakeAt }: Head,
  now: number,
  { paused = false }: ClaimOptions = {},
): boolean {
  if (isFinished(status)) return false
  return stopped || status !== 'paused' || paused || now >= (wakeAt ?? Infinity)
}
