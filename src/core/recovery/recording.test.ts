/** Recovery reads the log of a run in slices, whatever its length. */
import { expect, onTestFinished, test } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import { replaceEventLoop } from '../runtime/event-loop-tick.ts'
import { RecordingReader } from './recording.ts'

/** An event loop on which reading the clock takes a millisecond, and nothing else takes time. */
function countingLoop(): { readonly looks: number; readonly ticks: number } {
  const counts = { looks: 0, ticks: 0 }
  const restore = replaceEventLoop({
    now: () => ++counts.looks,
    defer: (act) => void setImmediate(() => (counts.ticks++, act())),
    afterPending: (act) => void setTimeout(act, 0),
  })
  onTestFinished(restore)
  return counts
}

test.each([
  { events: 4000, chars: 5, recordsPerLook: 64 },
  { events: 200, chars: 20_000, recordsPerLook: 1 },
])(
  'recording: within one page of a log, the clock is checked every $recordsPerLook records of $chars characters',
  async ({ events, chars, recordsPerLook }) => {
    const clock = createFakeClock()
    const store = createMemoryStore({ clock })
    const made = newRun('run_1', clock.iso(), { claim: { worker: 'runWriter', ttlMs: 60_000 } })
    const runWriter = new RunWriter(store, clock, (await store.create(made)).stored, [made.record])
    runWriter.start()
    for (let event = 0; event < events; event++) runWriter.text('x'.repeat(chars))
    await runWriter.flush()
    const counts = countingLoop()
    const reader = await RecordingReader.read(store, 'run_1', events + 2, Infinity)
    const { looks, ticks } = { ...counts }
    expect((await reader.recording()).output.get('')!.emitted.length).toBe(events)
    expect(looks).toBeGreaterThanOrEqual(events / recordsPerLook)
    // A slice has 10 ms: at most ten looks.
    expect(ticks).toBeGreaterThanOrEqual(Math.floor(looks / 11))
  },
)

test.each([
  { reason: 'answered', attemptFrom: 2, retried: 'both attempts' },
  { reason: 'draining', attemptFrom: 8, retried: 'the last attempt' },
] as const)(
  'recording: after a release as $reason, a retry starts $retried afresh',
  async ({ reason, attemptFrom }) => {
    const clock = createFakeClock()
    const store = createMemoryStore({ clock })
    const made = newRun('run_1', clock.iso(), { claim: { worker: 'runWriter', ttlMs: 60_000 } })
    const runWriter = new RunWriter(store, clock, (await store.create(made)).stored, [made.record])
    runWriter.start()
    runWriter.append({ type: 'tool.called', data: { call: 'c', name: 'search', input: {}, key: 'search', within: '' } })
    runWriter.pause()
    runWriter.append({ type: 'tool.completed', data: { call: 'c', name: 'search', output: 'found', key: 'search' } })
    runWriter.resume()
    runWriter.append({ type: 'run.released', data: { reason } })
    runWriter.start()
    runWriter.text('still here')
    await runWriter.flush()
    const reader = await RecordingReader.read(store, 'run_1', runWriter.writer.next, Infinity)
    expect(reader.attemptFrom).toBe(attemptFrom)
  },
)
