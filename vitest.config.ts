import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './scripts/longest-first.ts'
import { SummaryReporter } from './scripts/vitest-summary.ts'

/**
 * Tests with a process of their own. All others leave nothing behind and share one per worker: half of their time was loading modules
 * again.
 */
const ISOLATED = [
  // They start processes, store servers or browsers.
  'test/{browser,cli,conformance,crash-consistency,faults,fuzz,golden,interop,scenarios,simulation}/**/*.test.ts',
  'test/ai-sdk/durable-kill.test.ts',
  // They measure the memory, CPU time or event loop of their process.
  'src/agents/remote-a2a/task-output.test.ts',
  'src/resumable-stream/context.test.ts',
  'src/stores/sqlite/{fifo,memory,committing/compaction,reading/listing}.test.ts',
  'test/protocols/{held-streams,hostile-bodies,long-reads,request-bursts}.test.ts',
  'test/protocols/a2a/{hostile-grpc,streams}.test.ts',
  'test/protocols/agentos/hostile-sockets.test.ts',
  'test/gateway/passthrough-limits.test.ts',
  'test/views/memory.test.ts',
  // They change globals, environment or listeners of their process, or look at what it has loaded.
  'src/agents/process/agent.test.ts',
  'src/client/backoff.test.ts',
  'src/mount/{holdfast,loaded-modules}.test.ts',
  'src/server/auth/{index,api-keys}.test.ts',
  'src/stores/sqlite/{documents,file/file-access}.test.ts',
  'test/assistant-stream/published.test.ts',
  'test/client/{asked-delays,shared-tabs}.test.ts',
  'test/{mount/runtimes,structure/retraction,testing/run-to-end}.test.ts',
]

const ALL = ['src/**/*.test.ts', 'test/**/*.test.ts']

/** Suites that also run with Holdfast mounted in other servers: streams, resumption, errors and links of every protocol. */
const MOUNTED = [
  'test/protocols/native/{events,runs,event-cursors}.test.ts',
  'test/protocols/agentos/{runs,resume,socket}.test.ts',
  'test/protocols/openai/{responses,errors}.test.ts',
  'test/protocols/ai-sdk/{chat,history,transport,socket,workflow-transport}.test.ts',
  'test/protocols/ag-ui/{agent,re-attach}.test.ts',
  'test/protocols/a2a/{resume,rest,send,cards,official-client}.test.ts',
]
const MOUNTED_ISOLATED = ['test/scenarios/stalled-subscriber.test.ts', 'test/browser/console-share.test.ts']

const mounted = ['express', 'hono'].flatMap((name) => {
  const env = { HOLDFAST_TEST_MOUNT: name }
  return [
    { extends: true as const, test: { name, include: MOUNTED, env, isolate: false } },
    { extends: true as const, test: { name: `${name}-isolated`, include: MOUNTED_ISOLATED, env } },
  ]
})

// Tests start hundreds of servers and threads from the sources. With the cache each loads them at half the cost.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules', '.cache', 'compile')

export default defineConfig({
  // The console imports the package by its name.
  resolve: { alias: { 'holdfast/structure': join(import.meta.dirname, 'src/core/structure/index.ts') } },
  test: {
    projects: [
      { extends: true, test: { name: 'shared', include: ALL, exclude: ISOLATED, isolate: false } },
      { extends: true, test: { name: 'isolated', include: ISOLATED } },
      ...mounted,
    ],
    // Most tests wait for servers that they start: with one worker more than cores, a machine of two idles for a quarter of the time.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    setupFiles: ['test/setup.ts'],
    // Its published tests import each other without extensions.
    server: { deps: { inline: [/assistant-stream\/src/] } },
    reporters: ['default', new SummaryReporter()],
    // For a machine whose cores are busy with something else; a test that hangs is rare, one that is starved is not.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 180_000 } },
  },
})
