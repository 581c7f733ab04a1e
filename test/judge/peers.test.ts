/** Self-test of the judge of peers: it finds the defect of each broken server, and none in the correct one. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runPython } from '../interop/python-lines.ts'
import { ensurePython, PYTHON_INSTALL_MS } from '../support/python.ts'

const root = join(import.meta.dirname, '../..')
const WITHIN_MS = 180_000
const FAULT = 'the page is reloaded midway'

test.each([
  { defect: 'none', verdict: 'ok', words: 40 },
  { defect: 'loses', verdict: 'lied', words: 35 },
  { defect: 'doubles', verdict: 'doubled', words: 40 },
  { defect: 'hangs', verdict: 'hung', words: 40 },
  { defect: 'fails', verdict: 'honest', words: 40 },
])(
  'judge of peers: a server with the defect "$defect" is judged as $verdict',
  { timeout: PYTHON_INSTALL_MS + WITHIN_MS },
  async ({ defect, verdict, words }) => {
    const python = await ensurePython(join(root, 'judge/requirements.txt'))
    const program = join(import.meta.dirname, 'broken-peer.ts')
    const start = JSON.stringify({ command: [process.execPath, program, '{port}', defect] })
    const args = [
      '-m',
      'judge.peers',
      '--profile',
      'resumable-stream',
      '--patience',
      '5',
      '--command',
      start,
      '--only',
      FAULT,
    ]
    const seen: unknown[] = []
    const problem = await runPython({ python, args, folder: root, withinMs: WITHIN_MS }, (line) => {
      seen.push(line)
      return undefined
    })
    expect(problem).toBeUndefined()
    expect(seen).toEqual([expect.objectContaining({ fault: FAULT, verdict, words })])
  },
)
