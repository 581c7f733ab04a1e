/** The history of a run's session: its earlier runs as messages, the newest within the limits. */
import type { HistoryMessage, HistoryOptions } from '../ports/component.ts'
import { isHoldfastError } from '../model/errors.ts'
import type { EventData } from '../model/event.ts'
import type { Limits } from '../model/limits.ts'
import { readCheckedLog } from '../delivery/read-log.ts'
import { shareEventLoop } from '../runtime/share-event-loop.ts'
import { type Document, SESSIONS } from '../model/document.ts'
import { cursorOf, justBefore, oldestOf } from '../model/page.ts'
import { events } from '../model/slice.ts'
import type { Run } from '../model/run.ts'
import type { Store, StoredRun } from '../ports/store.ts'
import { sessionLineage } from './session-fork.ts'
import { TranscriptFold } from './transcript.ts'

/**
 * Uses only runs that had ended when this one was first started, so every attempt gets the same history. Exchanges are not split:
 * the first one beyond the limits ends the search, and one without a response is skipped.
 */
export async function sessionHistory(
  store: Store,
  limits: Limits,
  run: Run,
  { of = 'component', maxMessages = limits.maxHistoryMessages, maxBytes = limits.maxHistoryBytes }: HistoryOptions,
): Promise<HistoryMessage[]> {
  const exchanges: HistoryMessage[][] = []
  const reader = new ExchangeReader(store, limits)
  let room = maxBytes
  for (const stored of await earlierRuns(store, run, of, Math.min(maxMessages, limits.maxPageRuns))) {
    const exchange = await reader.read(stored)
    if (exchange === 'too_large') break
    if (exchange === undefined) continue
    room -= exchange.reduce((sum, { content }) => sum + bytesOf(content), 0)
    if (room < 0 || (exchanges.length + 1) * 2 > maxMessages) break
    exchanges.push(exchange)
  }
  return exchanges.toReversed().flat()
}

/** Runs of the session and its origins, newest first, without replaced runs. */
async function earlierRuns(
  store: Store,
  run: Run,
  of: 'component' | 'session',
  limit: number,
): Promise<readonly StoredRun[]> {
  if (limit < 1) return []
  const found: StoredRun[] = []
  const replaced = new Set<string>()
  const started = run.startedAt ?? run.createdAt
  const document = (id: string): Promise<Document | undefined> => store.documents.get(run.owner, SESSIONS, id)
  for await (const { id, last } of sessionLineage(run.session, document)) {
    const start = oldestOf([run.branch?.before ?? run, ...(last === undefined ? [] : [justBefore(last)])])!
    const { runs } = await store.list({
      owner: run.owner,
      session: id,
      status: ['completed', 'failed', 'cancelled'],
      after: cursorOf(start),
      limit,
      ...(of === 'component' && { component: run.component }),
    })
    for (const stored of runs) {
      const { finishedAt, status, branch } = stored.run
      if (finishedAt === undefined || finishedAt > started) continue
      if (branch?.replaces === true && status !== 'failed') replaced.add(branch.from)
      if (!replaced.has(stored.run.id)) found.push(stored)
    }
    if (found.length >= limit) break
  }
  return found.slice(0, limit)
}

/** Reads the input and output of runs, up to a limit of log bytes. */
class ExchangeReader {
  readonly #store: Store
  readonly #maxPageBytes: number
  #bytesLeft: number

  constructor(store: Store, { maxReadBytes, maxHistoryReadBytes }: Limits) {
    this.#store = store
    this.#maxPageBytes = maxReadBytes
    this.#bytesLeft = maxHistoryReadBytes
  }

  /** Undefined if the run has no exchange, or no longer has one. */
  async read(stored: StoredRun): Promise<HistoryMessage[] | 'too_large' | undefined> {
    try {
      const output = (await this.#outputInOneRead(stored)) ?? (await this.#outputInAll(stored))
      if (this.#bytesLeft < 0) return 'too_large'
      if (output === undefined || output === '') return undefined
      const run = stored.run.id
      const [created] = await this.#page(run, -1, 1)
      const question = askedIn((created!.data as EventData['run.created']).input)
      return [
        { role: 'user', content: question, run },
        { role: 'assistant', content: output, run },
      ]
    } catch (cause) {
      // Trimmed, or removed since it was listed.
      if (isHoldfastError(cause) && (cause.code === 'not_found' || cause.code === 'cursor_expired')) return undefined
      throw cause
    }
  }

  /** Most runs end with their output, so the rest of the log need not be read. */
  async #outputInOneRead({ run, next }: StoredRun): Promise<string | undefined> {
    if (run.status !== 'completed') return undefined
    const end = (await this.#page(run.id, next - 2, 1)).at(-1)
    const output = end?.type === 'run.completed' ? end.data.output : undefined
    return typeof output === 'string' ? output : undefined
  }

  async #outputInAll({ run, next }: StoredRun): Promise<string | undefined> {
    const fold = new TranscriptFold()
    for (let after = -1; after < next - 1 && this.#bytesLeft >= 0;) {
      const page = await this.#page(run.id, after, this.#maxPageBytes)
      if (page.length === 0) break
      for (const event of page) fold.add(event)
      after = page.at(-1)!.index
    }
    const { own, output } = fold.transcript()
    if (own.text !== '') return own.messages.join('\n\n')
    return output === undefined ? undefined : JSON.stringify(output)
  }

  async #page(run: string, after: number, maxBytes: number): Promise<ReturnType<typeof events>> {
    await shareEventLoop()
    const slice = await readCheckedLog(this.#store, run, after, maxBytes)
    if (slice === undefined) return []
    this.#bytesLeft -= slice.bytes.length
    return events(slice)
  }
}

/** An input as text: the last message of a conversation, with files by name only. */
function askedIn(input: unknown): string {
  if (typeof input === 'string') return input
  if (typeof input !== 'object' || input === null) return JSON.stringify(input ?? null)
  const { text, files, messages } = input as { text?: unknown; files?: unknown; messages?: unknown }
  if (typeof text === 'string') return [text, ...listOrNone(files).map(fileIn)].join('\n')
  const last = listOrNone(messages).findLast((message) => (message as { role?: unknown } | null)?.role === 'user')
  return last === undefined ? JSON.stringify(input) : contentIn((last as { content?: unknown }).content)
}

function contentIn(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = listOrNone(content) as ({ type?: unknown; text?: unknown } | null)[]
  return parts.map((part) => (part?.type === 'text' ? String(part.text) : fileIn(part))).join('\n')
}

function fileIn(file: unknown): string {
  const { name, filename = name, mediaType = 'file' } = (file ?? {}) as Record<string, unknown>
  return `[${String(mediaType)}${typeof filename === 'string' ? `: ${filename}` : ''}]`
}

function listOrNone(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

const encoder = new TextEncoder()

function bytesOf(text: string): number {
  return encoder.encode(text).length
}
