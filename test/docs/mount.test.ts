/** The programs of docs/mount.md, each started in a folder of its own and used. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { blocksOf } from '../support/doc-programs.ts'
import { freePort } from '../support/free-port.ts'
import { temporaryFolder } from '../support/temporary.ts'

const root = join(import.meta.dirname, '../..')
const blocks = blocksOf('docs/mount.md', 'ts')

/** Blocks by the file that their first line names. Servers are distinguished by their imports. */
function block(file: string, holds = ''): string {
  const found = blocks.filter((code) => code.startsWith(`// ${file}\n`) && code.includes(holds))
  expect(found, `${file} ${holds}`).toHaveLength(1)
  return found[0]!
}

/** A project with these files, in which `holdfast` is this repository. */
function project(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/holdfast'))
  for (const name of ['express', 'hono', '@hono', 'fastify', '@fastify'])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

function start(folder: string, file: string): ChildProcess {
  const flags = ['--conditions=holdfast-source', '--no-warnings']
  const child = spawn(process.execPath, [...flags, file], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** All that a program prints until it ends. */
async function output(folder: string, file: string): Promise<string> {
  const child = start(folder, file)
  let text = ''
  for await (const chunk of child.stdout!) text += String(chunk)
  return text
}

test.each(['express', 'fastify', 'hono', 'node:http'])(
  'docs/mount.md: the server with %s runs agents below the base path',
  async (name) => {
    const port = await freePort()
    const server = block('server.ts', `from '${name}'`).replaceAll('3000', String(port))
    start(project({ 'agents.ts': block('agents.ts'), 'server.ts': server }), 'server.ts')
    const client = createClient({ url: `http://127.0.0.1:${port}/api/agents` })
    const run = await client.runs.start({ component: 'counter', input: 'wave' })
    let text = ''
    for await (const piece of run.text()) text += piece
    expect(text).toBe('wave 1\nwave 2\nwave 3\nwave 4\nwave 5\n')
  },
)

test('docs/mount.md: the route file of Next.js exports a handler for every method', async () => {
  const route = 'app/api/agents/[[...path]]/route.ts'
  const program = `
    import * as route from ${JSON.stringify(`./${route}`)}
    const response = await route.GET(new Request('http://localhost/api/agents/components'))
    console.log(Object.keys(route).join(), response.status, (await response.json()).components[0].id)
    process.exit()`
  const folder = project({ 'agents.ts': block('agents.ts'), [route]: block(route), 'main.ts': program })
  expect(await output(folder, 'main.ts')).toBe('DELETE,GET,HEAD,OPTIONS,PATCH,POST,PUT 200 counter\n')
})

test('docs/mount.md: runs in process', async () => {
  const folder = project({ 'agents.ts': block('agents.ts'), 'in-process.ts': block('in-process.ts') })
  expect(await output(folder, 'in-process.ts')).toBe('wave 1\nwave 2\nwave 3\nwave 4\nwave 5\n')
})

test('docs/mount.md: authentication by the application, and chosen protocols', async () => {
  const program = `
    import * as authenticated from './authenticated.ts'
    import * as chosen from './protocols.ts'
    import * as moved from './moved.ts'
    const ask = async (hf, path, headers = {}) => (await hf.fetch(new Request('https://app.example' + path, { headers }))).status
    console.log(await ask(authenticated.hf, '/runs'), await ask(authenticated.hf, '/runs', { cookie: 'session=7f3a' }))
    const onHost = async ({ hf }, path) => (await hf.fetch(new Request('http://localhost' + path))).status
    console.log(await onHost(chosen, '/v1/models'), await onHost(chosen, '/agents'))
    console.log(await onHost(moved, '/openai/v1/models'), await onHost(moved, '/v1/models'), await onHost(moved, '/runs'))
    process.exit()`
  const folder = project({
    'authenticated.ts': block('authenticated.ts'),
    'protocols.ts': block('protocols.ts'),
    'moved.ts': block('moved.ts'),
    'main.ts': program,
  })
  expect(await output(folder, 'main.ts')).toBe('401 200\n200 404\n200 404 200\n')
})

test('docs/mount.md: every program is run', () => {
  const run = [
    'agents.ts',
    'server.ts',
    'app/',
    'instrumentation.ts',
    'in-process.ts',
    'authenticated.ts',
    'protocols.ts',
    'moved.ts',
  ]
  for (const code of blocks)
    expect(
      run.some((file) => code.startsWith(`// ${file}`)),
      code.split('\n', 1)[0],
    ).toBe(true)
})
