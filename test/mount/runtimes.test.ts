/** `hf.fetch` in the servers of other runtimes. Bun's kill with SQLite is in `examples/bun`. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { followAcrossKill, programAt } from '../../examples/kill-and-resume/across-kill.ts'
import { freePort } from '../support/free-port.ts'
import { startPostgres } from '../support/postgres.ts'
import { temporaryDatabase } from '../support/temporary.ts'

const postgres = await startPostgres()
const binaries = join(import.meta.dirname, '../../node_modules/.bin')
const program = join(import.meta.dirname, '../support/programs/mounted-in-runtime.ts')
const bun = [join(binaries, 'bun')] as const
const denoFlags = ['run', '--allow-all', '--no-check', '--no-lock', '--node-modules-dir=manual'] as const
const deno = [join(binaries, 'deno'), ...denoFlags] as const

test.each([
  ['Bun', bun],
  ['Deno', deno],
] as const)(
  '%s: a mounted server with SQLite, and one with PostgreSQL, starts, streams a run, and closes',
  async (_name, [binary, ...flags]) => {
    for (const store of [`sqlite:${temporaryDatabase()}`, postgres.url]) {
      const { stdout, stderr } = await promisify(execFile)(binary, [...flags, program, store], { timeout: 180_000 })
      expect(stdout, store).toBe('200 /api/agents/runs/ID you said hi true\n')
      expect(stderr, store).not.toMatch(/error/i)
    }
  },
)

test.each([
  ['Bun', 'PostgreSQL', bun],
  ['Deno', 'PostgreSQL', deno],
  ['Deno', 'SQLite', deno],
] as const)(
  '[RUN-1] %s: a run in %s continues after a SIGKILL of the server, and its stream has every event once',
  async (_name, kind, runtime) => {
    vi.spyOn(console, 'log').mockImplementation(() => {}) // it prints each event
    const port = String(await freePort())
    const client = createClient({ url: `http://127.0.0.1:${port}/api/agents` })
    const startAt = programAt(new URL('../support/programs/killed-in-runtime.ts', import.meta.url), port, runtime)
    const events = await followAcrossKill(client, (database) =>
      startAt(kind === 'SQLite' ? `sqlite:${database}` : postgres.url),
    )
    expect(events).toBeGreaterThan(60)
  },
)
