/** A page rendered by Vite on the server can import Holdfast: optional packages that are not installed are not bundled. */
import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'vite'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'

const root = join(import.meta.dirname, '../..')

const PROGRAM = `
  import { agent, holdfast } from 'holdfast'
  const hello = agent({ id: 'hello', async *run(name) { yield 'hello ' + name } })
  const hf = holdfast({ components: [hello], store: 'memory:', protocols: ['native', 'a2a', 'openai', 'agentos'] })
  const answer = await hf.fetch(new Request('http://localhost/.well-known/agent-card.json'))
  const run = await hf.runs.start({ component: 'hello', input: 'vite' })
  let text = ''
  for await (const piece of run.text()) text += piece
  console.log(JSON.stringify([answer.status, text]))
  await hf.close()
`

test('Vite bundles `holdfast` for the server without optional packages, and the bundle serves', async () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'node_modules'))
  // A link, as in a workspace: Vite bundles it, whereas it would leave an installed package as it is.
  symlinkSync(root, join(folder, 'node_modules/holdfast'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'entry.js'), PROGRAM)
  await build({
    root: folder,
    logLevel: 'silent',
    configFile: false,
    build: { ssr: 'entry.js' },
    // Only because this repository is not built: a package has no such condition.
    ssr: { resolve: { conditions: ['holdfast-source', 'module', 'node'] }, noExternal: ['holdfast'] },
    plugins: [refusing(['@grpc/grpc-js', '@grpc/proto-loader', 'pg', 'ai', '@nats-io/transport-node', '@ai-sdk/mcp'])],
  })
  // The bundle loads the engine from the installed package.
  const argv = ['--conditions=holdfast-source', '--no-warnings', join(folder, 'dist/entry.js')]
  const { stdout } = await promisify(execFile)(process.execPath, argv, { timeout: 60_000 })
  expect(JSON.parse(stdout)).toEqual([200, 'hello vite'])
})

/** In a user's project they are not there; here they would be found. */
function refusing(packages: readonly string[]): { name: string; enforce: 'pre'; resolveId(id: string): undefined } {
  return {
    name: 'not-installed',
    enforce: 'pre',
    resolveId(id) {
      if (packages.includes(id)) throw new Error(`the bundler resolves ${id}`)
      return undefined
    },
  }
}
