/** `holdfast new DIRECTORY`: creates a small project. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { HoldfastError } from '../../core/model/errors.ts'
import { parseOptions } from '../../server/options.ts'
import type { Command } from '../command.ts'
import type { CommandIo } from '../io.ts'
import { projectFiles, type ProjectVersions } from '../new/project.ts'

export const newProject: Command = {
  operands: ['DIRECTORY'],
  about: `Creates a small project: one agent with one tool. Start it with npm install and npm start. The directory must be new or
empty.`,
  examples: [{ line: 'holdfast new my-agents', does: 'then: cd my-agents, npm install, npm start' }],
  options: {},
  run: writeProject,
}

async function writeProject(argv: readonly string[], io: CommandIo): Promise<number> {
  const [directory, ...others] = parseOptions({}, argv, {}).positionals
  if (directory === undefined || others.length > 0)
    throw new HoldfastError('invalid_request', 'expected one directory\n\nUsage: holdfast new DIRECTORY')
  checkEmpty(directory)
  const files = Object.entries(projectFiles(packageName(directory), versions()))
  mkdirSync(directory, { recursive: true })
  for (const [path, text] of files) writeFileSync(join(directory, path), text, { flag: 'wx' })
  const written = files.map(([path]) => path).join(', ')
  const enter = resolve(directory) === process.cwd() ? '' : `  cd ${directory}\n`
  io.stdout.write(`Wrote ${written} to ${directory}\n\nNow:\n${enter}  npm install\n  npm start\n`)
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

/** The versions that this package was built with. */
function versions(): ProjectVersions {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as {
    readonly version: string
    readonly dependencies: { readonly zod: string }
    readonly peerDependencies: { readonly ai: string }
    readonly engines: { readonly node: string }
  }
  const { version, dependencies, peerDependencies, engines } = manifest
  return { holdfast: `^${version}`, ai: peerDependencies.ai, zod: dependencies.zod, node: engines.node }
}
