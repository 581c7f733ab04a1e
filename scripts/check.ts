/** `npm run check`: static checks, build and packed package. Stops at the first failure. CI also runs bench:guard, interop and the tests (.ci/run). */
import { command, runSteps } from './command.ts'

const commands: Readonly<Record<string, readonly [string, ...string[]]>> = {
  format: ['oxfmt', '--check', '.'],
  lint: ['oxlint', '--type-aware'],
  types: ['tsc', '--noEmit', '-p', '.'],
  unused: ['knip', '--no-progress'],
  build: ['node', 'scripts/build.ts'],
  package: ['node', 'scripts/pack-check.ts'],
}

runSteps(
  'check',
  Object.entries(commands).map(([name, line]) => ({ name, run: () => void command(line) })),
)
