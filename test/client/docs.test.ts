/** The code of docs/client.md runs, and its tables are those of the code. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { exportsOf } from '../../scripts/imports.ts'
import { agent } from '../../src/agents/agent.ts'
import { bundle } from '../browser/bundle.ts'
import { serveNative } from '../protocols/native/serve.ts'
import { temporaryFolder } from '../support/temporary.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/client.md'), 'utf8')
const entries = {
  'holdfast/client': join(root, 'src/client/index.ts'),
  'holdfast/react': join(root, 'src/react/index.ts'),
  'holdfast/structure': join(root, 'src/core/structure/index.ts'),
}

const IMPORTS = /^import .*$/gm

/** Replaces the demo's agent, which is slow. */
const storyteller = agent({
  id: 'storyteller',
  async *run(subject) {
    for (const word of `Once upon a time there was ${subject}, and nobody in it.`.split(' ')) yield `${word} `
  },
})

function blocks(language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(([, code]) => code!)
}

function readable(code: string): string {
  return Object.entries(entries).reduce((text, [name, file]) => text.replaceAll(`'${name}'`, `'${file}'`), code)
}

test('the programs of docs/client.md run', async () => {
  const { url } = await serveNative({ components: [storyteller] })
  const [setup, ...programs] = blocks('ts')
  expect(programs.length).toBeGreaterThan(5)
  const imports = new Set(programs.flatMap((code) => code.match(IMPORTS) ?? []))
  const parts = programs.map(
    (code, number) => `{\n${code.replaceAll(IMPORTS, '')}}\nconsole.log('\\npart ${number} is done')`,
  )
  const file = join(temporaryFolder(), 'page.ts')
  writeFileSync(file, readable([...imports, setup, ...parts].join('\n')).replaceAll('http://localhost:7777', url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', file], { timeout: 60_000 })
  for (const number of programs.keys()) expect(stdout).toContain(`part ${number} is done`)
  expect(stdout).toMatch(/failed agent_failed run_\S+ false/)
})

test('the React component of docs/client.md renders', async () => {
  const [component] = blocks('tsx')
  const file = join(temporaryFolder(), 'story.mjs')
  const program = `${component}
    import { renderToString } from 'react-dom/server.browser'
    export const html = renderToString(<Story />)`
  writeFileSync(file, await bundle(join(root, 'docs/story.tsx'), program))
  const { html } = (await import(pathToFileURL(file).href)) as { html: string }
  expect(html).toContain('Tell a story')
  expect(html).toContain('idle')
})

test('docs/client.md names every option and every error', () => {
  const transport = readFileSync(join(root, 'src/client/transport.ts'), 'utf8')
  const [, options] = /export interface TransportOptions \{\n([^]*?)\n\}/.exec(transport)!
  const names = [...options!.matchAll(/readonly (\w+)\?/g)].map(([, name]) => name!)
  expect(names.length).toBeGreaterThan(4)
  const documented = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!)
  expect(documented).toEqual(expect.arrayContaining([...names, 'shareConnections']))
  const errors = exportsOf(readFileSync(entries['holdfast/client'], 'utf8')).filter((name) => name.endsWith('Error'))
  for (const error of errors) expect(page).toContain(`\`${error}\``)
})
