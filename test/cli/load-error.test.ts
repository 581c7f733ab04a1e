/** Errors of modules that do not load show the source location with the surrounding lines. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'
import { run } from './command-line.ts'

const broken = 'export const a = 1\nexport const b = {\n  x: 1,,\n}\n'
const component = (name: string): string => `export const ${name} = { id: 'writer', kind: 'agent', async *run() {} }\n`

interface Case {
  readonly files: Readonly<Record<string, string>>
  readonly says: string
  readonly place: string
  /** The line that is meant, and the one with the caret below it. */
  readonly frame: string
}

const cases: Record<string, Case> = {
  'a syntax error in TypeScript': {
    files: { 'agents.ts': broken },
    says: 'agents.ts cannot be loaded: Unexpected token',
    place: 'agents.ts:3:8',
    frame: '  > 3 |   x: 1,,\n      |        ^\n',
  },
  'a syntax error in JavaScript': {
    files: { 'agents.mjs': broken },
    says: 'agents.mjs cannot be loaded: Unexpected token',
    place: 'agents.mjs:3:8',
    frame: '  > 3 |   x: 1,,\n      |        ^\n',
  },
  'a syntax error in a module that it imports': {
    files: { 'agents.mjs': "import './lib.mjs'\n", 'lib.mjs': broken },
    says: 'agents.mjs cannot be loaded: Unexpected token',
    place: 'lib.mjs:3:8',
    frame: '  > 3 |   x: 1,,\n      |        ^\n',
  },
  'TypeScript that Node cannot strip': {
    files: { 'agents.ts': 'export enum Color { Red }\n' },
    says: 'enum is not supported',
    place: 'agents.ts:1:8',
    frame: '  > 1 | export enum Color { Red }\n      |        ^\n',
  },
  'an error at the top level': {
    files: { 'agents.ts': 'const none: { key: string }[] = []\n\nexport const key = none[0].key\n' },
    says: "agents.ts cannot be loaded: Cannot read properties of undefined (reading 'key')",
    place: 'agents.ts:3:28',
    frame: '  > 3 | export const key = none[0].key\n      |                            ^\n',
  },
  'an error at the top level of a module that it imports': {
    files: { 'agents.ts': "import './lib.ts'\n", 'lib.ts': "export const a = 1\nthrow new Error('no tide')\n" },
    says: 'agents.ts cannot be loaded: no tide',
    place: 'lib.ts:2:7',
    frame: "  > 2 | throw new Error('no tide')\n      |       ^\n",
  },
  'a package that is not installed': {
    files: { 'agents.ts': "export const a = 1\nimport { b } from 'not-installed/sub'\nexport const c = b\n" },
    says: "agents.ts cannot be loaded: Cannot find package 'not-installed'",
    place: 'agents.ts:2:19',
    frame: "  > 2 | import { b } from 'not-installed/sub'\n      |                   ^\n",
  },
  'an import of a missing file': {
    files: { 'agents.ts': "import { b } from './lib.ts'\nexport const c = b\n" },
    says: 'agents.ts cannot be loaded: Cannot find module',
    place: 'agents.ts:1:19',
    frame: "  > 1 | import { b } from './lib.ts'\n      |                   ^\n",
  },
  'an import of a missing export': {
    files: { 'agents.ts': "import { b } from './lib.ts'\nexport const c = b\n", 'lib.ts': 'export const a = 1\n' },
    says: "does not provide an export named 'b'",
    place: 'agents.ts:1:10',
    frame: "  > 1 | import { b } from './lib.ts'\n      |          ^\n",
  },
  'two components with one id': {
    files: { 'agents.mjs': component('one') + component('two') },
    says: 'agents.mjs cannot be loaded: two components have the id writer, exported as one and two',
    place: 'agents.mjs:2:22',
    frame:
      "  > 2 | export const two = { id: 'writer', kind: 'agent', async *run() {} }\n      |                      ^\n",
  },
}

test.each(Object.entries(cases))(
  'holdfast serve reports %s with its location and a code frame',
  async (_name, wanted) => {
    const cwd = temporaryFolder()
    for (const [name, text] of Object.entries(wanted.files)) writeFileSync(join(cwd, name), text)
    const [file] = Object.keys(wanted.files)
    const { code, stderr } = await run(['serve', file!, '--port', '0', '--store', 'memory:'], { cwd })
    expect(stderr).toContain(wanted.says)
    expect(stderr).toContain(`\n  ${wanted.place}\n`)
    expect(stderr).toContain(wanted.frame)
    expect(code).toBe(2)
  },
)

test.each([
  ['absent.ts', 'absent.ts cannot be loaded: the file does not exist\n'],
  ['.', '. cannot be loaded: it is not a file\n'],
])('holdfast serve names the missing or unreadable module %s', async (file, says) => {
  const { code, stderr } = await run(['serve', file, '--port', '0', '--store', 'memory:'], { cwd: temporaryFolder() })
  expect(stderr).toContain(says)
  expect(code).toBe(2)
})
