#!/usr/bin/env node
/** The command line: checks the Node it runs on, then executes a command. In a checkout, `main.mjs` starts it. */
import { keepCompiledCode } from './compile-cache.ts'
import { checkNodeVersion } from './node-version.ts'

const problem = checkNodeVersion(process.versions.node)
if (problem === undefined) {
  keepCompiledCode()
  // Not earlier: the commands import modules that do not load on an old Node.
  const { runCommand } = await import('./run-command.ts')
  const { UNREAD } = await import('./exit-codes.ts')
  process.stdout.on('error', () => process.exit(UNREAD))
  const code = await runCommand(process.argv.slice(2), {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
  })
  // Exits explicitly: an agent that ignores its signal can keep a process alive for hours.
  process.exit(code)
} else {
  process.stderr.write(`${problem}\n`)
  process.exitCode = 1
}
