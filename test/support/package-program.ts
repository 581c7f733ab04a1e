/** A program of an application that has Holdfast as a package, in a process that a test can kill. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from './temporary.ts'

const root = join(import.meta.dirname, '../..')

export interface PackageProgram {
  /** What it has printed. */
  readonly printed: () => string
  /** Resolves when it has printed this many characters. */
  readonly untilPrinted: (characters: number) => Promise<void>
  readonly kill: () => Promise<void>
}

/** Killed after the test. */
export function startPackageProgram(source: string, args: readonly string[]): PackageProgram {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/holdfast'))
  writeFileSync(join(folder, 'program.mjs'), source)
  const child = spawn(process.execPath, ['--conditions=holdfast-source', '--no-warnings', 'program.mjs', ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  return {
    printed: () => printed,
    async untilPrinted(characters) {
      const died = closed.then(() => {
        throw new Error('the program has ended')
      })
      while (printed.length < characters) await Promise.race([once(child.stdout, 'data'), died])
      died.catch(() => {})
    },
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
  }
}
