/** A command's interface to its process. */
import type { Environment } from '../server/config/options.ts'

export interface Output {
  write(text: string): unknown
  /** Writes sequences that move the cursor. Absent if `write` accepts them too. */
  control?(sequences: string): unknown
  /** Whether a person is watching. */
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

export interface CommandIo {
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Environment
}
