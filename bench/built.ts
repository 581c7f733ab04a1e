/** What is measured is what is published: JavaScript. Sources would pay for stripping their types, in time and in memory. */
import { copyFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { command, root } from '../scripts/command.ts'

/** Compiles the package and the bench into a folder that looks like the root of the repository. */
export function build(folder: string): void {
  command(['tsc', '-p', 'bench/tsconfig.json', '--noCheck', '--outDir', folder])
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
}
