/** The client in every supported runtime; browsers are in test/browser. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { eventsIn, readLog } from '../support/http.ts'
import { serveNative } from '../protocols/native/serve.ts'

const binaries = join(import.meta.dirname, '../../node_modules/.bin')
const runtimes: readonly (readonly [name: string, program: string, ...args: string[]])[] = [
  ['Node', process.execPath, '--no-warnings'],
  ['Bun', join(binaries, 'bun')],
  ['Deno', join(binaries, 'deno'), 'run', '--allow-all', '--no-config', '--no-lock'],
]

describe.each(runtimes)('the client in %s', (_name, program, ...args) => {
  test('[LOG-1] follows a run to its end and returns its outcome', async () => {
    const server = await serveNative()
    const file = join(import.meta.dirname, 'runtime-program.ts')
    const { stdout } = await promisify(execFile)(program, [...args, file, server.url], { timeout: 60_000 })
    const { id, seen, code } = JSON.parse(stdout) as { id: string; seen: unknown[]; code: string }
    expect(seen).toEqual(eventsIn(await readLog(server, id)))
    expect(code).toBe('agent_failed')
  })
})
