/** Temporary folders for tests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A new folder, removed after the test. Create it before anything that uses it. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Path for a new database. */
export function temporaryDatabase(): string {
  return join(temporaryFolder(), 'runs.db')
}
