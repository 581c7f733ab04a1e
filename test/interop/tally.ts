/** Prints each result as it arrives, and counts passes and failures. */
export class Tally {
  #passed = 0
  #failed = 0

  /** Without a problem it counts as passed. */
  add(title: string, problem?: string): void {
    if (problem === undefined) this.#passed += 1
    else this.#failed += 1
    console.log(problem === undefined ? `✓ ${title}` : `✗ ${title}\n  ${problem.replaceAll('\n', '\n  ')}`)
  }

  /** It passed if the check does not throw. */
  async check(title: string, check: () => Promise<void>): Promise<void> {
    const problem = await check().then(
      () => undefined,
      (cause: unknown) => String(cause),
    )
    this.add(title, problem)
  }

  /** Prints the totals and returns the exit code. */
  report(suite = 'agno'): number {
    console.log(`interop ${suite}: ${this.#passed} passed, ${this.#failed} failed`)
    return this.#failed === 0 && this.#passed > 0 ? 0 : 1
  }
}
