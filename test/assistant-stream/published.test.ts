/** The tests that `assistant-stream` publishes for its stores, contexts and responses, with our store in place of its in-memory one. */
import { join } from 'node:path'
import { beforeEach, onTestFinished, vi } from 'vitest'
import { assistantStreams, openResumableStreamStore } from '../../src/assistant-stream/store.ts'
import { silentLogger } from '../../src/core/ports/logger.ts'
import { holdfast } from '../../src/mount/holdfast.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'

const folder = join(import.meta.dirname, '../../node_modules/assistant-stream/src/resumable')

const FILES = [
  'stores/InMemoryResumableStreamStore.test.ts',
  'ResumableStreamContext.test.ts',
  'createResumableAssistantStreamResponse.test.ts',
  '__tests__/integration.test.ts',
]

/** They test how the in-memory store collects garbage, or options that only it has. */
const OF_THE_IN_MEMORY_STORE: readonly RegExp[] = [
  /^does not sweep /,
  /^gc sweeper /,
  /^dispose /,
  /maxChunkBytes$/,
  /maxEntriesPerStream$/,
  /maxStreams$/,
  // It tells the writer of the end in the same turn as readers. A log does so in either order; our own test waits for both.
  /^onFinalize fires on successful completion$/,
  // Its timers and times of ends are those of a fake clock. Our own tests of expiry have real ones.
  /^wakes a waiting reader when its stream expires$/,
  /^keeps refreshed and finalized streams until their new deadlines$/,
]

interface InMemoryOptions {
  readonly defaultTtlMs?: number
  readonly now?: () => number
}

vi.mock('../../node_modules/assistant-stream/src/resumable/stores/InMemoryResumableStreamStore.ts', () => ({
  createInMemoryResumableStreamStore: ({ defaultTtlMs, now = Date.now }: InMemoryOptions = {}) => {
    const [start, first] = [Date.now(), now()]
    // Most tests leave a stream open: closing does not wait for it.
    const limits = { drainTimeoutMs: 0 }
    const hf = holdfast({ components: [assistantStreams], store: createMemoryStore(), limits, logger: silentLogger })
    onTestFinished(() => hf.close())
    const options = { holdfast: hf, ...(defaultTtlMs !== undefined && { defaultTtlMs }) }
    return openResumableStreamStore(options, () => start + now() - first)
  },
}))

beforeEach(({ task, skip }) => skip(OF_THE_IN_MEMORY_STORE.some((name) => name.test(task.name))))

for (const file of FILES) await import(join(folder, file))
