/** Components in a project that `npm init -y` made: its package.json says `"type": "commonjs"`. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { NOBODY } from './called.ts'
import { CommandLine, root, run } from './command-line.ts'

const library = JSON.stringify(join(root, 'src/index.ts'))

const AGENTS = `import { agent } from ${library}
import { word } from './word.ts'

export const echo = agent({
  id: 'echo',
  async *run(input: string) {
    yield \`\${word} \${input}\`
  },
})
`

function commonJsProject(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }')
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

test('a TypeScript module with import and export loads in a package of type commonjs', async () => {
  const cwd = commonJsProject({ 'agents.ts': AGENTS, 'word.ts': "export const word = 'You said'\n" })
  expect(await run(['run', 'echo', 'hello', '--file', 'agents.ts'], { cwd, env: NOBODY })).toMatchObject({
    code: 0,
    stdout: 'You said hello\n',
  })
})

test('isolated() loads a TypeScript module in a package of type commonjs in its thread', async () => {
  const cwd = commonJsProject({
    'agents.ts': `import { isolated } from ${library}\nexport const echo = await isolated(new URL('./echo.ts', import.meta.url))\n`,
    'echo.ts': AGENTS,
    'word.ts': "export const word = 'You said'\n",
  })
  expect(await run(['run', 'echo', 'hello', '--file', 'agents.ts'], { cwd, env: NOBODY })).toMatchObject({
    code: 0,
    stdout: 'You said hello\n',
  })
})

test('a CommonJS file is loaded as CommonJS even if some lines look like a module', async () => {
  const source = `/*
import { x } from 'y'
*/
const { basename } = require('node:path')
exports.echo = { id: 'echo', kind: 'agent', recovery: 'fail', onBusySession: 'parallel', async *run() { yield basename(__filename) } }
`
  const cwd = commonJsProject({ 'agents.js': source })
  expect(await run(['run', 'echo', 'hello', '--file', 'agents.js'], { cwd, env: NOBODY })).toMatchObject({
    code: 0,
    stdout: 'agents.js\n',
  })
})

test('holdfast dev reloads a TypeScript module in a package of type commonjs when it changes', async () => {
  const cwd = commonJsProject({ 'agents.ts': AGENTS, 'word.ts': "export const word = 'You said'\n" })
  const server = new CommandLine(['dev', 'agents.ts', '--port', '0', '--store', 'memory:'], { cwd })
  const url = await server.url()
  writeFileSync(join(cwd, 'word.tmp'), "export const word = 'I heard'\n")
  renameSync(join(cwd, 'word.tmp'), join(cwd, 'word.ts'))
  await until('it was reloaded', () => server.stdout.includes('✓ reloaded in'), { withinMs: 180_000 })
  const output = await run(['run', 'echo', 'hello', '--url', url], { cwd })
  expect(output).toMatchObject({ code: 0, stdout: 'I heard hello\n' })
})
