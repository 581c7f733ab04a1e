/** `holdfast serve FILE`: modules of every kind, and the errors of those that cannot be served. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { call, startRun, untilFinished } from '../support/http.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { CommandLine, type Ended, root, run } from './command-line.ts'

const library = JSON.stringify(join(root, 'src/index.ts'))
const MEMORY = ['--port', '0', '--store', 'memory:']

/** The path of a module with this text. */
function moduleOf(name: string, text: string): string {
  const path = join(temporaryFolder(), name)
  writeFileSync(path, text)
  return path
}

const typescript = `
import { agent, type Component } from ${library}
interface Greeting { readonly name: string }
export const greeter: Component<Greeting> = agent<Greeting>({ id: 'greeter', async *run({ name }: Greeting) { yield \`Hello, \${name}\`; return 'done' as const } })
`

const plain = (id: string): string => `{ id: '${id}', kind: 'agent', async *run() { yield 'hi' } }`

describe('holdfast serve', () => {
  test('serves a TypeScript module without a build', async () => {
    const server = new CommandLine(['serve', moduleOf('agents.ts', typescript), ...MEMORY])
    const target = { url: await server.url() }
    const { body } = await call<{ id: string }>(target, 'POST', '/runs', {
      body: { component: 'greeter', input: { name: 'Ada' } },
    })
    expect(await untilFinished(target, body.id)).toMatchObject({ status: 'completed', output: 'done' })
  })

  test.each(['agents.js', 'agents.mjs'])('serves %s in JavaScript', async (name) => {
    const file = moduleOf(
      name,
      `export default ${plain('one')}; export const more = [${plain('two')}, ${plain('three')}]; export const other = 7`,
    )
    const server = new CommandLine(['serve', file, ...MEMORY])
    const target = { url: await server.url() }
    const { body } = await call<{ components: { id: string }[] }>(target, 'GET', '/components')
    expect(body.components.map(({ id }) => id).toSorted()).toEqual(['one', 'three', 'two'])
    const { id } = await startRun(target, 'x', { component: 'two' })
    expect(await untilFinished(target, id)).toMatchObject({ status: 'completed' })
  })

  test('serves a component exported under two names once, and with --lab the lab too', async () => {
    const file = moduleOf(
      'agents.mjs',
      `const one = ${plain('one')}; export { one, one as another }; export default one`,
    )
    const server = new CommandLine(['serve', file, '--lab', ...MEMORY])
    const { body } = await call<{ components: { id: string }[] }>({ url: await server.url() }, 'GET', '/components')
    const ids = body.components.map(({ id }) => id)
    expect(ids.filter((id) => !id.startsWith('lab'))).toEqual(['one'])
    expect(ids).toContain('lab')
  })

  test('prints the address, the store, and what to try', async () => {
    const folder = temporaryFolder()
    const file = moduleOf('agents.mjs', `export default ${plain('one')}`)
    const server = new CommandLine(['serve', file, '--port', '0'], { cwd: folder })
    const url = await server.url()
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(server.stdout).toContain('.holdfast/holdfast.db')
    expect(server.stdout).toContain('Serving one')
    expect(server.stdout).toContain(`curl -N ${url}/runs`)
    expect(existsSync(join(folder, '.holdfast/holdfast.db'))).toBe(true)
  })

  test.each(['SIGTERM', 'SIGINT'] as const)('drains on %s', async (signal) => {
    const file = moduleOf('agents.mjs', `export default ${plain('one')}`)
    const server = new CommandLine(['serve', file, ...MEMORY])
    await server.url()
    server.kill(signal)
    const { code, stderr } = await server.ended()
    expect(code).toBe(0)
    expect(stderr).toContain(`${signal}: draining`)
  })
})

describe('holdfast serve exits with a one-line error', () => {
  test.each<[string, string, string, RegExp]>([
    [
      'exports nothing',
      'empty.mjs',
      '',
      /empty\.mjs exports no component; export the result of agent\(\{ id, run \}\)/,
    ],
    [
      'exports nothing that is a component',
      'other.mjs',
      'export const a = 1, b = null, c = { id: "x" }, d = [undefined, "y"]',
      /other\.mjs exports no component/,
    ],
    ['throws', 'throws.mjs', 'throw new Error("the tide is out")', /throws\.mjs cannot be loaded: the tide is out/],
    [
      'throws something that is not an Error',
      'string.mjs',
      'throw "the tide is out"',
      /string\.mjs cannot be loaded: the tide is out/,
    ],
    ['throws undefined', 'nothing.mjs', 'throw undefined', /nothing\.mjs cannot be loaded/],
    ['does not parse', 'broken.mjs', 'export const = 7', /broken\.mjs cannot be loaded: .*Unexpected token/],
    ['does not parse, in TypeScript', 'broken.ts', 'export const a: = 7', /broken\.ts cannot be loaded/],
    [
      'has TypeScript syntax that cannot be erased',
      'enum.ts',
      'export enum Tide { Low, High }',
      /enum\.ts cannot be loaded: .*enum/,
    ],
    [
      'imports a missing module',
      'needs.mjs',
      'import "nowhere-to-be-found"',
      /needs\.mjs cannot be loaded: .*nowhere-to-be-found/,
    ],
    [
      'has two components with the same id',
      'twice.mjs',
      `export const a = ${plain('same')}, b = ${plain('same')}`,
      /two components have the id same/,
    ],
    [
      'has a component with an invalid id',
      'name.mjs',
      `export const a = ${plain('not a name')}`,
      /component id "not a name" must be/,
    ],
    [
      'has a component with the id of a lab component',
      'lab.mjs',
      `export const a = ${plain('lab')}`,
      /two components have the id lab/,
    ],
  ])('a module that %s is rejected', async (_name, file, text, expectedText) => {
    expectRefusal(await run(['serve', moduleOf(file, text), '--lab', ...MEMORY]), expectedText)
  })

  test.each([
    ['that does not exist', 'missing.ts'],
    ['that is a folder', '.'],
  ])('a module file %s is rejected', async (_name, file) => {
    const path = join(temporaryFolder(), file)
    expectRefusal(
      await run(['serve', path, ...MEMORY]),
      new RegExp(`${path.replaceAll('.', String.raw`\.`)} cannot be loaded`),
    )
  })

  test('a rejected module leaves no database behind', async () => {
    const cwd = temporaryFolder()
    writeFileSync(join(cwd, 'twice.mjs'), `export const a = ${plain('same')}, b = ${plain('same')}`)
    expectRefusal(await run(['serve', 'twice.mjs', '--port', '0'], { cwd }), /two components/)
    expect(existsSync(join(cwd, '.holdfast'))).toBe(false)
  })
})

function expectRefusal({ code, stdout, stderr }: Ended, expectedText: RegExp): void {
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(expectedText)
  expect(stderr).toMatch(/^holdfast serve: /)
  expect(stderr).not.toMatch(/^ {4}at /m)
}
