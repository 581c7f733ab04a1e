/** Backpressure: an agent that is faster than its store, or never waits, uses bounded memory and delays no other run. */
import { expect, onTestFinished, test } from 'vitest'
import { openNode, subject } from '../../../test/support/node.ts'
import { temporaryDatabase } from '../../../test/support/temporary.ts'
import { openSqliteStore } from '../../stores/sqlite/index.ts'
import { overriding } from '../../testing/broken-stores.ts'
import type { LogWriter, Store } from '../ports/store.ts'

/** Time for a busy disk to sync some hundred commits. */
const WRITTEN_MS = 60_000
/** No worker counts as dead on a busy machine. */
const LEASE_MS = 60_000

interface Peak {
  pending: number
  pendingChars: number
}

/** A store that records the peak of uncommitted records. */
async function observed(): Promise<{ readonly store: Store; readonly peak: Peak }> {
  const store = await openSqliteStore({ path: temporaryDatabase() })
  onTestFinished(() => store.close())
  const peak: Peak = { pending: 0, pendingChars: 0 }
  const observe = (writer: LogWriter): LogWriter => ({
    get next() {
      return writer.next
    },
    get pending() {
      return writer.pending
    },
    get pendingChars() {
      return writer.pendingChars
    },
    append(record, change) {
      writer.append(record, change)
      peak.pending = Math.max(peak.pending, writer.pending)
      peak.pendingChars = Math.max(peak.pendingChars, writer.pendingChars)
    },
    flush: () => writer.flush(),
  })
  return { store: overriding(store, { writer: (...parameters) => observe(store.writer(...parameters)) }), peak }
}

test('[SUB-1] backpressure: an agent that yields ten thousand events without waiting is slowed down by its store', async () => {
  const { store, peak } = await observed()
  const node = openNode({
    store,
    components: [
      subject(async function* () {
        for (let number = 0; number < 10_000; number++) yield `[${number}]`
      }),
    ],
    limits: { leaseMs: LEASE_MS, maxPendingEvents: 64 },
  })
  const id = await node.start('subject')
  const { next } = await node.reached(id, 'completed', WRITTEN_MS)
  expect(next).toBe(10_003)
  // The runner's own events are not held back; there are never more than a few.
  expect(peak.pending).toBeLessThanOrEqual(64 + 3)
  expect(peak.pending).toBeGreaterThan(8)
})

test('[SUB-1] backpressure: an agent that yields large events is slowed down by their size', async () => {
  const { store, peak } = await observed()
  const large = 'x'.repeat(10_000)
  const node = openNode({
    store,
    components: [
      subject(async function* () {
        for (let number = 0; number < 500; number++) yield large
      }),
    ],
    limits: { leaseMs: LEASE_MS, maxPendingChars: 50_000 },
  })
  await node.reached(await node.start('subject'), 'completed', WRITTEN_MS)
  expect(peak.pendingChars).toBeLessThan(50_000 + 11_000)
})

test('[RUN-2] an agent that never waits can be stopped, and other runs execute beside it', async () => {
  let received = false
  const greedy = subject(
    async function* (_, { signal }) {
      // Bounded, so that a runner that never lets go of the thread fails this test instead of hanging it.
      for (const end = Date.now() + 20_000; Date.now() < end && !signal.aborted;) yield '.'
      received = signal.aborted
    },
    { id: 'greedy' },
  )
  const node = openNode({ components: [greedy, subject(async function* () {})] })
  const id = await node.start('greedy')
  await node.emitted(id, 'text.delta')
  await node.ended(await node.start('subject'))
  expect((await node.get(id)).run.status).toBe('running')
  await node.stop(id)
  await node.reached(id, 'cancelled')
  expect(received).toBe(true)
})
