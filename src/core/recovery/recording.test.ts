/** The past of a run is read in slices, however long its log is. */
import { expect, test } from 'vitest'
import { openMemoryStore } from '../../stores/memory.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import { RecordingReader } from './recording.ts'

const EVENTS = 60_000

test('recording: the history of a long run is loaded in slices that yield the event loop', async () => {
  const clock = createFakeClock()
  const store = openMemoryStore({ clock })
  const made = newRun('run_1', clock.iso(), { claim: { owner: 'runWriter', ttlMs: 60_000 } })
  const runWriter = new RunWriter(store, clock, (await store.create(made)).stored, [made.record])
  runWriter.start()
  for (let event = 0; event < EVENTS; event++) runWriter.text('word ')
  await runWriter.flush()
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  const history = await (await RecordingReader.read(store, 'run_1', EVENTS + 2, 256 * 1024)).recording()
  clearInterval(timer)
  expect(history.output.get('')!.emitted.length).toBe(EVENTS)
  // The fold takes a hundred milliseconds and more. Without a rest no timer fires before it is done.
  expect(turns).toBeGreaterThan(5)
})
