/** The bench measures the published JavaScript, without the cost of type stripping. */
import { copyFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { command, root } from '../scripts/command.ts'

/** Compiles the package and the bench into a folder with the layout of the repository. */
export function build(folder: string): void {
  command(['tsc', '-p', 'bench/tsconfig.json', '--noCheck', '--outDir', folder])
  command(['node', 'scripts/join-modules.ts', join(folder, 'src')])
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
}
