/** What passed and what failed, said as it becomes known and counted at the end. */
export class Tally {
  #passed = 0
  #failed = 0

  /** It passed where there is no problem. */
  add(title: string, problem?: string): void {
    if (problem === undefined) this.#passed += 1
    else this.#failed += 1
    console.log(problem === undefined ? `✓ ${title}` : `✗ ${title}\n  ${problem.replaceAll('\n', '\n  ')}`)
  }

  /** Says the sum; gives the exit code. */
  report(suite = 'agno'): number {
    console.log(`interop ${suite}: ${this.#passed} passed, ${this.#failed} failed`)
    return this.#failed === 0 && this.#passed > 0 ? 0 : 1
  }
}
