/** After each test file nothing that it started may be left: no child process, no listening server. */
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll } from 'vitest'

const KINDS: Readonly<Record<string, string>> = {
  ProcessWrap: 'a child process',
  TCPServerWrap: 'a listening server',
  PipeServerWrap: 'a listening pipe',
}
/** A child that was killed, or a server that was closed, needs a moment until it is gone. */
const GRACE_MS = 30_000
const INTERVAL_MS = 20

// Registered before any hook of the file, so it runs after all of them.
afterAll(async () => {
  const deadline = Date.now() + GRACE_MS
  while (leftovers().length > 0 && Date.now() < deadline) await wait(INTERVAL_MS)
  const left = leftovers()
  if (left.length > 0) throw new Error(`the tests of this file left behind: ${left.join(', ')}`)
})

function leftovers(): string[] {
  return process.getActiveResourcesInfo().flatMap((resource) => KINDS[resource] ?? [])
}
