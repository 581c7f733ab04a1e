/** What a command needs of the process that it runs in. */
import type { Environment } from '../server/options.ts'

export interface CommandIo {
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
  readonly env: Environment
}
