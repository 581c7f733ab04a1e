/**
 * After each test file nothing that it started may be left: no child process, no listening server. Then its CPU time is complete and
 * becomes known to reporters.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll } from 'vitest'
import { cpuTime } from './support/cpu-time.ts'

const KINDS: Readonly<Record<string, string>> = {
  ProcessWrap: 'a child process',
  TCPServerWrap: 'a listening server',
  PipeServerWrap: 'a listening pipe',
}
/** A killed child or a closed server needs a moment until it is gone. */
const GRACE_MS = 30_000
const INTERVAL_MS = 20
const COUNTED = Symbol.for('holdfast.test-cpu-counted')

// Registered before any hook of the file, so it runs after all of them.
// oxlint-disable-next-line no-empty-pattern -- vitest wants a pattern there
afterAll(async ({}, suite) => {
  const deadline = Date.now() + GRACE_MS
  while (leftovers().length > 0 && Date.now() < deadline) await wait(INTERVAL_MS)
  const left = leftovers()
  Object.assign(suite.meta, { cpuMs: cpuOfFile() })
  if (left.length > 0) throw new Error(`the tests of this file left behind: ${left.join(', ')}`)
})

/** Since the process started, or since the last file of a shared process. */
function cpuOfFile(): number | undefined {
  const time = cpuTime()
  if (time === undefined) return undefined
  const shared = globalThis as { [COUNTED]?: number }
  const all = time.own + time.children
  const cpuMs = all - (shared[COUNTED] ?? 0)
  shared[COUNTED] = all
  return cpuMs
}

function leftovers(): string[] {
  return process.getActiveResourcesInfo().flatMap((resource) => KINDS[resource] ?? [])
}
