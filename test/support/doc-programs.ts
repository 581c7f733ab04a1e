/** Code blocks of a page, and a folder to run them in as a reader would: `holdfast` is this repository. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from './temporary.ts'

const root = join(import.meta.dirname, '../..')
const PROGRAM_MS = 60_000

/** The code of each block of a language, in the order of the page; `page` is relative to the root. */
export function blocksOf(page: string, language: string): string[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(([, code]) => code!)
}

/** Resolves with the program's output; rejects if it fails or does not end. */
export async function runProgram(source: string): Promise<string> {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/holdfast'))
  symlinkSync(join(root, 'node_modules/zod'), join(folder, 'node_modules/zod'))
  const file = join(folder, 'program.ts')
  writeFileSync(file, source)
  const flags = ['--conditions=holdfast-source', '--no-warnings']
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, file], { timeout: PROGRAM_MS })
  return stdout
}
