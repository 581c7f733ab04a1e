/** `npm run build`: compiles src/ to dist/ with tsc, joins what a server loads first, and builds console/ into dist/console. */
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { command, Failure, root, runSteps } from './command.ts'
import { importsOf } from './imports.ts'

const dist = join(root, 'dist')
const program = join(dist, 'cli', 'main.js')

runSteps('build', [
  { name: 'clean', run: () => rmSync(dist, { recursive: true, force: true }) },
  { name: 'compile', run: () => void command(['tsc', '-p', 'tsconfig.build.json']) },
  { name: 'join', run: () => command(['node', 'scripts/join-modules.ts', dist]).trim() },
  { name: 'console', run: () => void command(['node', 'scripts/build-console.ts']) },
  { name: 'executable', run: makeExecutable },
  { name: 'specifiers', run: checkSpecifiers },
])

function makeExecutable(): void {
  if (!readFileSync(program, 'utf8').startsWith('#!'))
    throw new Failure(`${program} does not begin with #!/usr/bin/env node`)
  chmodSync(program, 0o755)
}

/** Sources import `./x.ts`; published files must import existing ones. */
function checkSpecifiers(): string {
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js'))
  const broken = files.flatMap((file) =>
    importsOf(readFileSync(join(dist, file), 'utf8'))
      .filter(({ kind, specifier }) => kind !== 'file' && specifier.startsWith('.'))
      .filter(({ specifier }) => !specifier.endsWith('.js') || !existsSync(join(dist, file, '..', specifier)))
      .map(({ specifier }) => `dist/${file} imports ${specifier}`),
  )
  if (broken.length > 0) throw new Failure(`these imports do not resolve:\n${broken.join('\n')}`)
  return `${files.length} files`
}
