/** A vitest reporter that prints one machine-readable last line: `Tests: 12 passed, 0 failed, 1 skipped`. */
import type { Reporter, SerializedError, TestModule, TestRunEndReason } from 'vitest/node'

export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[], reason: TestRunEndReason): void {
    // Errors outside of tests count too: a failed run must never print `0 failed`.
    const count = { passed: 0, failed: errors.length, skipped: 0 }
    for (const module of modules) {
      const before = count.failed
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        count[state === 'pending' ? 'failed' : state]++
      }
      // A file that failed to load, or whose hooks failed, has no failed test.
      if (module.state() === 'failed' && count.failed === before) count.failed++
    }
    if (reason !== 'passed' && count.failed === 0) count.failed++
    console.log(`\nTests: ${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
  }
}
