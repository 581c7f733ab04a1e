/** A vitest reporter that ends the output with one plain line for machines: `Tests: 12 passed, 0 failed, 1 skipped`. */
import type { Reporter, SerializedError, TestModule, TestRunEndReason } from 'vitest/node'

export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[], reason: TestRunEndReason): void {
    // An error outside every test is a failure too: a run that failed must never read `0 failed`.
    const count = { passed: 0, failed: errors.length, skipped: 0 }
    for (const module of modules) {
      const before = count.failed
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        count[state === 'pending' ? 'failed' : state]++
      }
      // A file that could not be loaded, or whose hooks failed, has no failed test to show for it.
      if (module.state() === 'failed' && count.failed === before) count.failed++
    }
    if (reason !== 'passed' && count.failed === 0) count.failed++
    console.log(`\nTests: ${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
  }
}
