#!/usr/bin/env node
/**
 * Starts the command line in a checkout. Plain JavaScript, because a Node that is too old refuses files named `.ts` and could not say
 * which version is needed. The package has `main.ts`, compiled.
 */
import { readFileSync } from 'node:fs'

const source = readFileSync(new URL('node-version.ts', import.meta.url), 'utf8')
const { checkNodeVersion } = await import(`data:text/javascript,${encodeURIComponent(source)}`)
const problem = checkNodeVersion()
if (problem === undefined) {
  await import('./main.ts')
} else {
  process.stderr.write(`${problem}\n`)
  process.exitCode = 1
}
