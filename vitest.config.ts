import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './scripts/longest-first.ts'
import { SummaryReporter } from './scripts/vitest-summary.ts'

/** Tests that leave nothing behind in their process. They share one per worker: half of their time was loading modules again. */
const SHARING = [
  'src/{core,http,protocols,sse}/**/*.test.ts',
  'src/agents/{ai-agent,lab,langgraph,model,openai-agents,shared,team,workflow}/**/*.test.ts',
]

/** Suites that also run with Holdfast mounted in other servers: streams, resumption, errors and links of every protocol. */
const MOUNTED = [
  'test/scenarios/stalled-subscriber.test.ts',
  'test/browser/console-share.test.ts',
  'test/protocols/native/{events,runs,event-cursors}.test.ts',
  'test/protocols/agentos/{runs,resume,socket}.test.ts',
  'test/protocols/openai/{responses,errors}.test.ts',
  'test/protocols/a2a/{resume,rest,send,cards,official-client}.test.ts',
]

const mounted = ['express', 'hono'].map((name) => ({
  extends: true as const,
  test: { name, include: MOUNTED, env: { HOLDFAST_TEST_MOUNT: name } },
}))

// Tests start hundreds of servers and threads from the sources. With the cache each loads them at half the cost.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules', '.cache', 'compile')

export default defineConfig({
  // The console imports the package by its name.
  resolve: { alias: { 'holdfast/structure': join(import.meta.dirname, 'src/core/structure/index.ts') } },
  test: {
    projects: [
      { extends: true, test: { name: 'unit', include: SHARING, isolate: false } },
      { extends: true, test: { name: 'system', include: ['src/**/*.test.ts', 'test/**/*.test.ts'], exclude: SHARING } },
      ...mounted,
    ],
    // Most tests wait for servers that they start: with one worker more than cores, a machine of two idles for a quarter of the time.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    setupFiles: ['test/setup.ts'],
    reporters: ['default', new SummaryReporter()],
    // For a machine whose cores are busy with something else; a test that hangs is rare, one that is starved is not.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 180_000 } },
  },
})
