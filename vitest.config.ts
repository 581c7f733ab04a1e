import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { SummaryReporter } from './scripts/vitest-summary.ts'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Most tests wait for servers that they start: with one worker less than cores, half of a small machine would idle.
    maxWorkers: Math.max(2, availableParallelism()),
    setupFiles: ['test/setup.ts'],
    reporters: ['default', new SummaryReporter()],
    // For a machine whose cores are busy with something else; a test that hangs is rare, one that is starved is not.
    testTimeout: 90_000,
    hookTimeout: 180_000,
  },
})
