/**
 * `npm run mutations [-- --only O-6]`: brings defects back one by one (test/mutations) in a copy of the last commit, and checks that the test
 * of each fails. Exits with 1 if a test passes nevertheless.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { type Mutation, mutations } from '../test/mutations/origins.ts'

/** A defect may show itself by a test that never ends. It has to fail before the run is cut off. */
const TEST_MS = 120_000
const RUN_MS = 180_000

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } })
const root = join(import.meta.dirname, '..')
const copy = mkdtempSync(join(tmpdir(), 'holdfast-mutations-'))
let unnoticed = 0
try {
  await promisify(execFile)('sh', ['-ec', 'git archive HEAD | tar x -C "$0"', copy], { cwd: root })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (const mutation of mutations.filter(({ id }) => values.only?.includes(id) ?? true)) {
    const result = await tryMutation(mutation)
    if (result !== 'noticed') unnoticed++
    console.log(`${mutation.id}: ${result} (${mutation.test}; ${mutation.file})`)
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
console.log(unnoticed === 0 ? 'every mutation was noticed' : `${unnoticed} mutations were not noticed`)
process.exitCode = unnoticed === 0 ? 0 : 1

/** `noticed`: tests of that title were run, and one failed. */
async function tryMutation({ file, find, replace, test, title }: Mutation): Promise<string> {
  const path = join(copy, file)
  const original = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    original.replace(find, () => replace),
  )
  try {
    const report = join(copy, 'mutation-report.json')
    rmSync(report, { force: true })
    const args = ['run', test, '-t', title, '--reporter=json', `--outputFile=${report}`, `--testTimeout=${TEST_MS}`]
    await run(join(root, 'node_modules/.bin/vitest'), args)
    const { numFailedTests, numPassedTests } = JSON.parse(readFileSync(report, 'utf8')) as Report
    if (numFailedTests > 0) return 'noticed'
    return numPassedTests > 0 ? 'NOT noticed' : 'no test was run'
  } finally {
    writeFileSync(path, original)
  }
}

interface Report {
  readonly numFailedTests: number
  readonly numPassedTests: number
}

/** Ends however the tests do. */
function run(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { cwd: copy, stdio: 'ignore', timeout: RUN_MS })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => resolve())
  })
}
