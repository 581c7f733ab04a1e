/** `holdfast new [DIRECTORY]`: creates a small project. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { HoldfastError } from '../../core/model/errors.ts'
import { toChoice } from '../../server/config/option-values.ts'
import { parseOptions } from '../../server/config/options.ts'
import type { Command } from '../command.ts'
import type { CommandIo } from '../io.ts'
import { isLocalPackage, packInto } from '../new/local-package.ts'
import { projectFiles, type ProjectVersions, templateNames } from '../new/project.ts'

const options = {
  template: {
    value: 'NAME',
    fallback: 'minimal',
    parse: toChoice(templateNames),
    help: `What to create: ${templateNames.join(', ')}.`,
  },
} as const

export const newProject: Command = {
  operands: ['[DIRECTORY]'],
  about: `Creates a small project: one agent with one tool. minimal is served by holdfast serve; express, hono and next mount it in an
application, next and react have a page. The directory must be new or empty. Default: the current directory.

From a checkout or a tarball, which no registry has, the project depends on a packed copy in vendor/.`,
  examples: [
    { command: 'holdfast new my-agents', description: 'then: cd my-agents, npm install, npm start' },
    { command: 'holdfast new my-app --template next', description: 'then: cd my-app, npm install, npm run dev' },
  ],
  options,
  run: writeProject,
}

async function writeProject(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseOptions(options, argv, {})
  const [directory = '.', ...others] = positionals
  if (others.length > 0)
    throw new HoldfastError(
      'invalid_request',
      'expected one directory\n\nUsage: holdfast new [DIRECTORY] [--template NAME]',
    )
  checkEmpty(directory)
  mkdirSync(directory, { recursive: true })
  const { root, ...versions } = ownPackage()
  const vendored = isLocalPackage(root) ? { holdfast: await packInto(directory, root, io) } : {}
  const files = Object.entries(projectFiles(values.template, packageName(directory), { ...versions, ...vendored }))
  for (const [path, text] of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text, { flag: 'wx' })
  }
  const written = files.map(([path]) => path).join(', ')
  const enter = resolve(directory) === process.cwd() ? '' : `  cd ${directory}\n`
  const start = ['next', 'react'].includes(values.template) ? 'npm run dev' : 'npm start'
  io.stdout.write(`Wrote ${written} to ${directory}\n\nNow:\n${enter}  npm install\n  ${start}\n`)
  return 0
}

/** Never writes into an existing project. */
function checkEmpty(directory: string): void {
  const found = statSync(directory, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isDirectory()) throw new HoldfastError('invalid_request', `${directory} is a file: use a new directory`)
  const [first] = readdirSync(directory)
  if (first === undefined) return
  throw new HoldfastError('invalid_request', `${directory} is not empty (it has ${first}): use a new directory`)
}

/** The directory's name, reduced to what npm allows. */
function packageName(directory: string): string {
  const name = basename(resolve(directory))
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '')
    .slice(0, 200)
  return name === '' || name === 'holdfast' ? 'my-agents' : name
}

/** The folder of this package, and the versions that it was built with. */
function ownPackage(): ProjectVersions & { readonly root: string } {
  const root = join(import.meta.dirname, '../../..')
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly version: string
    readonly dependencies: { readonly zod: string }
    readonly peerDependencies: { readonly ai: string }
    readonly engines: { readonly node: string }
  }
  const { version, dependencies, peerDependencies, engines } = manifest
  return { root, holdfast: `^${version}`, ai: peerDependencies.ai, zod: dependencies.zod, node: engines.node }
}
