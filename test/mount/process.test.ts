/** A mounted instance and the process around it: signals, and several copies of the package. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { temporaryFolder } from '../support/temporary.ts'

const root = join(import.meta.dirname, '../..')

/** Starts a program; `lines` is its output. */
function start(cwd: string, ...program: readonly string[]) {
  const child = spawn(process.execPath, ['--conditions=holdfast-source', '--no-warnings', ...program], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
}

/** A copy of the package in a project, as two versions in one process or a bundler's output are. */
function copyPackage(folder: string, name: string): void {
  const copy = join(folder, name)
  mkdirSync(copy, { recursive: true })
  cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true, filter: (path) => !path.endsWith('.test.ts') })
  cpSync(join(root, 'package.json'), join(copy, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
}

test('mount: SIGTERM drains an application that asked for it: its run continues in the next process, and the process ends', async () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/holdfast'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(folder, 'server.ts'),
    `import { createServer } from 'node:http'
    import { agent, holdfast } from 'holdfast'
    const slow = agent({ id: 'slow', recovery: 'resume', async *run() {
      yield 'one '
      if (process.argv[2] !== 'second') await new Promise(() => {})
      yield 'two'
    } })
    const hf = holdfast({ components: [slow], store: 'sqlite:runs.db', closeOn: ['SIGTERM'], limits: { drainTimeoutMs: 0 } })
    await hf.ready()
    const server = createServer(hf.node).listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port))
    `,
  )
  const first = start(folder, 'server.ts')
  const url = String((await first.lines.next()).value)
  const run = await createClient({ url }).runs.start({ component: 'slow', input: '' })
  for await (const event of run.events()) if (event.type === 'text.delta') break
  const exited = once(first.child, 'exit')
  first.child.kill('SIGTERM')
  expect(await exited).toEqual([null, 'SIGTERM'])
  const next = String((await start(folder, 'server.ts', 'second').lines.next()).value)
  const types: string[] = []
  let text = ''
  for await (const event of createClient({ url: next }).runs.open(run.id).events()) {
    types.push(event.type)
    if (event.type === 'text.delta') text += event.data.text
  }
  expect(types).toContain('run.released')
  expect([text, types.at(-1)]).toEqual(['one two', 'run.completed'])
})

test('mount: a second copy of the package in the process takes the store over without a lock error, and errors keep their kind', async () => {
  const folder = temporaryFolder()
  for (const name of ['one', 'two']) copyPackage(folder, name)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(folder, 'main.ts'),
    `import * as one from './one/src/index.ts'
    import * as two from './two/src/index.ts'
    const components = (copy, text) => [copy.agent({ id: 'echo', async *run() { yield text } })]
    const textOf = async (hf) => { let text = ''; for await (const piece of (await hf.runs.start({ component: 'echo', input: '' })).text()) text += piece; return text }
    const logger = { trace() {}, debug() {}, info() {}, warn() {}, error(_fields, message) { console.log(message) }, fatal() {} }
    const first = one.holdfast({ components: components(one, 'first'), store: 'sqlite:runs.db', logger })
    console.log(await textOf(first))
    const second = two.holdfast({ components: components(two, 'second'), store: 'sqlite:runs.db', logger })
    console.log(await textOf(second))
    const refused = await first.fetch(new Request('http://localhost/runs'))
    console.log(refused.status, (await refused.json()).detail)
    const error = new one.HoldfastError('not_found', '')
    console.log(one.HoldfastError !== two.HoldfastError, two.isHoldfastError(error, 'not_found'), new Error() instanceof two.HoldfastError)
    await first.close()
    console.log((await second.runs.list()).runs.length)
    await second.close()
    `,
  )
  const { lines } = start(folder, 'main.ts')
  const output: string[] = []
  for (let line = await lines.next(); line.done !== true; line = await lines.next()) output.push(line.value)
  expect(output).toEqual([
    'first',
    'second',
    '503 another holdfast() call with other settings has taken over the store',
    'true true false',
    '2',
  ])
})
