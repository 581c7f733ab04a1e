/** Self-test of the judge: it finds the defects of each broken server, and none in the correct one. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runPython } from '../interop/python-lines.ts'
import { ensurePython, PYTHON_INSTALL_MS } from '../support/python.ts'

const root = join(import.meta.dirname, '../..')
const WITHIN_MS = 120_000

interface Examined {
  readonly defect: string
  readonly red: readonly string[]
  readonly expected: readonly string[]
  readonly examples: Readonly<Record<string, readonly string[]>>
}

test(
  'judge: every seeded violation is found, with the right invariant, and a sound server has none',
  { timeout: PYTHON_INSTALL_MS + WITHIN_MS },
  async () => {
    const python = await ensurePython(join(root, 'judge/requirements.txt'))
    const examined: Examined[] = []
    const args = ['-m', 'judge.selftest']
    const problem = await runPython({ python, args, folder: root, withinMs: WITHIN_MS }, (line) => {
      examined.push(line as Examined)
      return undefined
    })
    for (const { defect, red, expected, examples } of examined)
      expect(red, `${defect}: ${JSON.stringify(examples)}`).toEqual(expected)
    expect(problem).toBeUndefined()
    expect(examined.map(({ defect }) => defect)).toContain('none')
    const found = new Set(examined.flatMap(({ red }) => red))
    expect([...found].toSorted()).toEqual(['LOG-1', 'LOG-2', 'LOG-3', 'LOG-5', 'RUN-1', 'RUN-3', 'RUN-4', 'STO-2'])
  },
)
