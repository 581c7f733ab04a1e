/** Documents of the NATS store. Each is the last message of a subject: metadata in the header, body in the payload. */
import {
  type Document,
  type DocumentDraft,
  type DocumentPage,
  type DocumentQuery,
  type Documents,
  sessionDocument,
} from '../../../core/model/document.ts'
import { storeUnavailable } from '../../../core/model/errors.ts'
import type { DocumentName } from '../../../core/ports/store-transfer.ts'
import type { Run } from '../../../core/model/run.ts'
import { laterOf, listDocuments } from '../../shared/document-listing.ts'
import type { OwnerTotals } from '../../shared/owner-totals.ts'
import { delayUntilAbort } from '../../shared/delay.ts'
import type { ReadBarriers } from '../log/read-barriers.ts'
import type { Layout, SubjectAddress } from '../layout.ts'
import type { JetStream } from '../connection/jetstream.ts'
import { type Message, Mismatch, onSubject } from '../connection/message.ts'
import { KeyedMutex } from '../../shared/keyed-mutex.ts'

/** All fields but the body. */
interface Summary extends Omit<Document, 'body'> {
  /** Unique message name, with which its writer recognizes it. */
  readonly name: string
  /** Bytes of the body. Absent in messages of earlier versions. */
  readonly bytes?: number
  /** Tombstone: the document was removed. Named `gone` in stored messages. */
  readonly gone?: true
}

interface KnownDocument extends Summary {
  readonly seq: number
}

interface CurrentDocument {
  readonly seq: number
  /** Undefined if the document was removed. */
  readonly document: Document | undefined
  readonly name: string
}

export interface NatsDocumentsOptions {
  readonly jetstream: JetStream
  readonly layout: Layout
  readonly barriers: ReadBarriers
  readonly now: () => number
  readonly name: () => string
  readonly totals: OwnerTotals
  /** Resolves when everything that any node has written so far is known here. */
  readonly caughtUp: () => Promise<void>
}

const TRIES_MAX = 200
/** The winning write may not be visible yet. */
const RETRY_DELAY_MS_MAX = 100

export class NatsDocuments implements Documents {
  readonly #options: NatsDocumentsOptions
  readonly #known = new Map<string, KnownDocument>()
  /** Tombstones of removed documents, and when each became known. */
  readonly #tombstones = new Map<string, { readonly name: DocumentName; readonly seq: number; readonly at: number }>()
  readonly #queue = new KeyedMutex()

  constructor(options: NatsDocumentsOptions) {
    this.#options = options
  }

  /** Handles a message about a document, from any node. */
  receive(head: string, seq: number): void {
    this.#apply({ ...(JSON.parse(head) as Summary), seq })
  }

  async get(owner: string, collection: string, id: string): Promise<Document | undefined> {
    return (await this.#find({ owner, collection, id }))?.document
  }

  put(draft: DocumentDraft, expected?: number): Promise<Document | undefined> {
    // Copied as it will be read, so that later changes by the caller have no effect.
    const body = JSON.parse(JSON.stringify(draft.body)) as unknown
    return this.#change<Document>(draft, (before) => {
      const version = before?.version ?? 0
      if (expected !== undefined && expected !== version) return undefined
      const now = new Date(this.#options.now()).toISOString()
      const createdAt = before?.createdAt ?? now
      return { ...draft, body, version: version + 1, createdAt, updatedAt: laterOf(before?.updatedAt, now) }
    })
  }

  async remove(owner: string, collection: string, id: string): Promise<boolean> {
    const removed = await this.#change({ owner, collection, id }, (before) => before && ('tombstone' as const))
    return removed !== undefined
  }

  async list(query: DocumentQuery): Promise<DocumentPage> {
    await this.#options.caughtUp()
    const { items, ...page } = listDocuments(this.#known.values(), query)
    return { documents: await this.#open(items), ...page }
  }

  /** All documents, ordered by name. */
  async all(limit: number, after?: DocumentName): Promise<readonly Document[]> {
    await this.#options.caughtUp()
    const start = after && keyOf(after)
    const keys = [...this.#known.keys()].filter((key) => start === undefined || key > start).toSorted()
    return this.#open(keys.slice(0, limit).map((key) => this.#known.get(key)!))
  }

  /** Imports a document with its version and times. False if its name is in use. */
  async admit(document: Document): Promise<boolean> {
    return (await this.#change(document, (before) => (before === undefined ? document : undefined))) !== undefined
  }

  /** Called before a run is created in a session. */
  async touch(run: Run): Promise<void> {
    const session = sessionDocument(run)
    await this.#change(session, (before) => {
      if (before === undefined) return session
      return before.updatedAt >= run.createdAt ? undefined : { ...before, updatedAt: run.createdAt }
    })
  }

  /** Removes tombstones that every node has seen. */
  async sweep(before: number): Promise<void> {
    for (const [key, { name, seq, at }] of this.#tombstones) {
      if (at > before) break
      const { stream, subject } = this.#address(name)
      await this.#options.jetstream.purge(stream, subject, seq + 1)
      this.#tombstones.delete(key)
    }
  }

  /** Compare-and-set loop; undefined if there was nothing to change. */
  #change<After extends Document | 'tombstone'>(
    name: DocumentName,
    decide: (before: Document | undefined) => After | undefined,
  ): Promise<After | undefined> {
    return this.#queue.do(keyOf(name), async () => {
      const own = this.#options.name()
      let after: After | undefined
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        let current = await this.#read(name)
        if (current?.name === own) return after // delivered twice, and the second copy was refused first
        after = decide(current?.document)
        if (after === undefined && current === undefined) {
          current = await this.#find(name)
          after = decide(current?.document)
        }
        if (after === undefined) return undefined
        const outcome = await this.#write(name, own, current, after)
        if (outcome === 'unsure') await this.#expectOwn(name, own)
        if (outcome !== 'stale') return after
        if (tries > 0) await delayUntilAbort(Math.min(tries, RETRY_DELAY_MS_MAX), this.#options.jetstream.signal)
      }
      throw storeUnavailable('too many concurrent writers; try again', { retryAfterMs: 1000 })
    })
  }

  async #write(
    name: DocumentName,
    own: string,
    current: CurrentDocument | undefined,
    after: Document | 'tombstone',
  ): Promise<'done' | 'stale' | 'unsure'> {
    const data = Buffer.from(after === 'tombstone' ? '' : JSON.stringify(after.body))
    const summary: Summary =
      after === 'tombstone'
        ? { ...summaryOf({ ...current!.document!, ...name }, own), gone: true }
        : { ...summaryOf(after, own), bytes: data.length }
    const { jetstream } = this.#options
    const published = await jetstream.publish({
      ...this.#address(name),
      head: JSON.stringify(summary),
      data,
      expected: current?.seq ?? 0,
    })
    if (published.kind === 'stale') return published.unsure ? 'unsure' : 'stale'
    this.#apply({ ...summary, seq: published.seq })
    return 'done'
  }

  /**
   * Only the last message of a document is stored, so a message that was written and then replaced looks like one that was
   * never written.
   */
  async #expectOwn(name: DocumentName, own: string): Promise<void> {
    if ((await this.#read(name))?.name === own) return
    const message = `the reply was lost, so it is unknown whether the document ${name.id} was changed: read it before you retry`
    throw storeUnavailable(message, { retryAfterMs: 1000 })
  }

  /** Undefined only if no server has it. */
  #find(name: DocumentName): Promise<CurrentDocument | undefined> {
    return this.#options.barriers.find(this.#address(name), () => this.#read(name))
  }

  async #read(name: DocumentName): Promise<CurrentDocument | undefined> {
    const message = await this.#options.jetstream.last(this.#address(name))
    if (message === undefined) return undefined
    const summary = JSON.parse(message.head) as Summary
    this.#apply({ ...summary, seq: message.seq })
    return { seq: message.seq, name: summary.name, document: documentOf(summary, message) }
  }

  /** Loads the bodies. Skips documents that were removed meanwhile. */
  async #open(found: readonly KnownDocument[]): Promise<Document[]> {
    const documents = await Promise.all(
      found.map(async (known) => {
        const { stream, subject } = this.#address(known)
        const message = await this.#options.jetstream.at(stream, known.seq, (each) =>
          readDocument(each, subject, known.name),
        )
        return message ? documentOf(known, message) : (await this.#read(known))?.document
      }),
    )
    return documents.flatMap((document) => document ?? [])
  }

  #apply(summary: KnownDocument): void {
    const key = keyOf(summary)
    const before = this.#known.get(key)
    if ((before?.seq ?? this.#tombstones.get(key)?.seq ?? 0) >= summary.seq) return
    this.#options.totals.add(summary.owner, {
      documents: (summary.gone ? 0 : 1) - (before === undefined ? 0 : 1),
      documentBytes: (summary.gone ? 0 : (summary.bytes ?? 0)) - (before?.bytes ?? 0),
    })
    if (summary.gone) {
      this.#known.delete(key)
      this.#tombstones.set(key, { name: summary, seq: summary.seq, at: performance.now() })
    } else {
      this.#known.set(key, summary)
      this.#tombstones.delete(key)
    }
  }

  #address({ owner, collection, id }: DocumentName): SubjectAddress {
    return this.#options.layout.state('document', owner, collection, id)
  }
}

function summaryOf({ body: _body, ...rest }: Document, name: string): Summary {
  return { ...rest, name }
}

function documentOf(
  { owner, collection, id, label, title, version, createdAt, updatedAt, gone }: Summary,
  { data }: Message,
) {
  if (gone) return undefined
  const body = JSON.parse(Buffer.from(data).toString()) as unknown
  const named = { ...(label !== undefined && { label }), ...(title !== undefined && { title }) }
  return { owner, collection, id, ...named, body, version, createdAt, updatedAt }
}

/** Accepts the message with this name only. */
function readDocument(message: Message, subject: string, name: string): Message {
  const found = onSubject(subject)(message)
  if ((JSON.parse(found.head) as Summary).name === name) return found
  throw new Mismatch(`another version of the document on ${subject}`)
}

function keyOf({ owner, collection, id }: DocumentName): string {
  return JSON.stringify([collection, owner, id])
}
