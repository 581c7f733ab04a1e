/** `npm run check`: all CI checks except the tests, in CI's order. Stops at the first failure. */
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
