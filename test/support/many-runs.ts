/** A store with about a year's worth of runs. */
import { systemIds } from '../../src/core/ports/clock.ts'
import type { Event } from '../../src/core/model/event.ts'
import { localPrincipal, ownerKey } from '../../src/core/model/principal.ts'
import { encodeBody, encodeRecord } from '../../src/core/model/record.ts'
import { reduce, type Run } from '../../src/core/model/run.ts'
import type { Store } from '../../src/core/ports/store.ts'

const COMPONENTS = ['storyteller', 'clerk', 'newsroom', 'publish', 'lab']
const MINUTE_MS = 60_000
const AT_ONCE = 500
const BOUNDS = { maxDepth: 50, maxBytes: 1_000_000 }
/** Session of the oldest run, to find it. */
export const NEEDLE = 'needle-in-the-haystack'

/** Finished runs, one per minute until now, of five components, in sessions of ten; one in a thousand failed. */
export async function fillStore(store: Store, count: number, betweenEventsMs = 1000): Promise<void> {
  const first = Date.now() - count * MINUTE_MS
  for (let from = 0; from < count; from += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, place) => from + place)
    await Promise.all(numbers.map((number) => addRun(store, number, first + number * MINUTE_MS, betweenEventsMs)))
  }
}

async function addRun(store: Store, number: number, created: number, betweenEventsMs: number): Promise<void> {
  const time = (index: number): string => new Date(created + index * betweenEventsMs).toISOString()
  const component = COMPONENTS[number % COMPONENTS.length]!
  const session = number === 0 ? NEEDLE : `customer-${Math.floor(number / 10)}`
  const about = { component, session, protocol: 'native' }
  const run: Run = {
    ...about,
    id: systemIds({ now: () => created }).run(),
    owner: ownerKey(localPrincipal),
    status: 'queued',
    createdAt: time(0),
    updatedAt: time(0),
    attempt: 0,
  }
  const record = (index: number, event: Event): string =>
    encodeRecord(run.id, index, time(index), event.type, encodeBody(event, BOUNDS))
  const { stored } = await store.create({
    run,
    record: record(0, { type: 'run.created', data: { ...about, input: 'the sea' } }),
    claim: { worker: 'filler', ttlMs: MINUTE_MS },
  })
  const writer = store.writer(run.id, { epoch: stored.epoch, next: stored.next })
  let state = run
  for (const event of lifeOf(number)) {
    const index = writer.next
    const after = reduce(state, { run: run.id, index, time: time(index), ...event })
    if (after === state) writer.append(record(index, event))
    else writer.append(record(index, event), (state = after))
  }
  await writer.flush()
}

function lifeOf(number: number): Event[] {
  const texts = Array.from({ length: 1 + (number % 7) }, (): Event => ({
    type: 'text.delta',
    data: { text: 'Once more. ' },
  }))
  return [{ type: 'run.started', data: { attempt: 1 } }, ...texts, endOf(number)]
}

function endOf(number: number): Event {
  if (number % 1000 === 999)
    return { type: 'run.failed', data: { error: { code: 'failed', message: 'the archive is closed' } } }
  const usage = { inputTokens: 12 + ((number * 37) % 400), outputTokens: 40 + ((number * 11) % 90) }
  return { type: 'run.completed', data: { output: 'Once more.', usage } }
}
