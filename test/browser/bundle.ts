/** Bundles a module for a page. */
import { join } from 'node:path'
import * as vite from 'vite'

const source = join(import.meta.dirname, '../../src')

/** Of this process: the tests of a file show the same page. */
const bundled = new Map<string, Promise<string>>()

/** `code`: content of the entry, if the file does not exist. */
export function bundle(entry: string, code?: string): Promise<string> {
  const key = JSON.stringify([entry, code])
  const found = bundled.get(key) ?? build(entry, code)
  bundled.set(key, found)
  return found
}

async function build(entry: string, code: string | undefined): Promise<string> {
  const built = (await vite.build({
    configFile: false,
    logLevel: 'silent',
    define: { 'process.env.NODE_ENV': '"production"' },
    // A test is no production for vite, and a page is.
    oxc: { jsx: { runtime: 'automatic', development: false } },
    plugins: code === undefined ? [] : [standIn(entry, code)],
    resolve: {
      alias: {
        'holdfast/client': `${source}/client/index.ts`,
        'holdfast/react': `${source}/react/index.ts`,
        'holdfast/structure': `${source}/core/structure/index.ts`,
      },
    },
    build: { write: false, minify: true, lib: { entry, formats: ['es'] }, target: 'es2022' },
  })) as vite.Rolldown.RolldownOutput[]
  const [output] = [built].flat()
  const chunks = output!.output.filter((part) => part.type === 'chunk')
  if (chunks.length !== 1) throw new Error(`${entry} became ${chunks.length} files`)
  return chunks[0]!.code
}

function standIn(entry: string, code: string): vite.Plugin {
  return {
    name: 'stand-in',
    enforce: 'pre',
    resolveId: (id) => (id === entry ? id : undefined),
    load: (id) => (id === entry ? code : undefined),
  }
}
