#!/usr/bin/env node
/**
 * The command line: checks the Node it runs on, then hands over to a command. Plain JavaScript, with `main.ts` as a symbolic link to
 * it: an old Node refuses files named `.ts`, but follows the link, and so can say which version is needed.
 */
import * as module from 'node:module'
import { checkNodeVersion } from './node-version.ts'

const problem = checkNodeVersion(process.versions.node)
if (problem === undefined) {
  module.enableCompileCache() // halves the startup time
  // After the version check: the commands' imports fail on an old Node.
  const { runCommand } = await import('./run-command.ts')
  const { UNREAD } = await import('./exit-codes.ts')
  process.stdout.on('error', () => process.exit(UNREAD))
  const code = await runCommand(process.argv.slice(2), {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
  })
  // Exit explicitly: an agent that ignores its abort signal could keep the process alive for hours.
  process.exit(code)
} else {
  process.stderr.write(`${problem}\n`)
  process.exitCode = 1
}
