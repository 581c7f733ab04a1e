/** Marks a process that `--supervise` started. */
import type { CommandIo } from '../io.ts'

/** Not prefixed with HOLDFAST, which is reserved for options. */
const NAME = 'SUPERVISED_BY_HOLDFAST'
const VALUE = '1'

export const SUPERVISED: Readonly<Record<string, string>> = { [NAME]: VALUE }

/** While another process uses the store, a supervisor retries, whereas a user gets an error. */
export function isSupervised({ env }: CommandIo): boolean {
  return env[NAME] === VALUE
}
