/** Checks in Python that run beside this process and print their results as lines of JSON. */
import { runPython } from './python-lines.ts'
import type { Tally } from './tally.ts'

export interface PythonChecks {
  readonly python: string
  /** Where the package `checks` is. */
  readonly folder: string
  readonly args: readonly string[]
  /** All of them together. */
  readonly withinMs: number
  /** Put before each title. */
  readonly name: string
  readonly tally: Tally
  /** Actions that the checks may request by name; they get a reply when the action is done. */
  readonly deeds: Readonly<Record<string, () => Promise<void>>>
}

interface Said {
  readonly title?: string
  readonly passed?: boolean
  readonly problem?: string
  readonly wants?: string
}

export async function runPythonChecks(checks: PythonChecks): Promise<void> {
  const { python, folder, withinMs, name, tally, deeds } = checks
  const args = ['-m', 'checks', ...checks.args]
  const problem = await runPython({ python, args, folder, withinMs }, async (line) => {
    const { title, passed, problem: why, wants } = line as Said
    if (wants === undefined) {
      tally.add(`${name}: ${title}`, passed === true ? undefined : why)
      return undefined
    }
    await deeds[wants]!()
    return 'done'
  })
  if (problem !== undefined) tally.add(`${name}: all checks are run`, problem)
}
