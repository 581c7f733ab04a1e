/** Temporary folders for tests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'

/** A new folder, removed after the test. Create it before anything that uses it. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A new folder, removed after the last test of the `describe` block that calls it. */
export function temporarySuiteFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Path for a new database. */
export function temporaryDatabase(): string {
  return join(temporaryFolder(), 'runs.db')
}
