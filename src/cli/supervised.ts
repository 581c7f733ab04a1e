/** How a process knows that `--supervise` started it. */
import type { CommandIo } from './io.ts'

/** Not among the names of options, which begin with HOLDFAST. */
const NAME = 'SUPERVISED_BY_HOLDFAST'
const VALUE = '1'

export const SUPERVISED: Readonly<Record<string, string>> = { [NAME]: VALUE }

/** Its supervisor tries again where a person would rather be told: while another process uses the store. */
export function isSupervised({ env }: CommandIo): boolean {
  return env[NAME] === VALUE
}
