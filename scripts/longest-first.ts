/** Starts the test files that take longest first, so that no worker is left with one of them at the end. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that start processes, browsers, store servers or many stores. Without records of earlier runs, vitest goes by their size. */
const LONG =
  /\/test\/(scenarios|conformance|browser|cli|interop|golden|simulation|crash-consistency|docs\/(examples|tutorial)\.)/

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of the sequencer
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

function isLong({ moduleId }: TestSpecification): boolean {
  return LONG.test(moduleId)
}
