/** The reconnect scripts of agno's documentation, unmodified, through a gateway on port 7777. */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Tally } from '../tally.ts'

/** It is written into the scripts. */
export const SCRIPTS_PORT = 7777
const FOLDER = join(import.meta.dirname, 'agno-scripts')
const SCRIPT_MS = 120_000
const PORT_MS = 120_000
const PASSED = /\[PASS\] Event indices are contiguous/

/** Something else on this machine may use the port for a while. */
export async function waitForPort(): Promise<void> {
  for (const since = performance.now(); performance.now() - since < PORT_MS; await wait(500))
    if (!(await isTaken())) return
  throw new Error(`port ${SCRIPTS_PORT}, which agno's scripts use, is taken`)
}

function isTaken(): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(SCRIPTS_PORT, '127.0.0.1')
    const settle = (taken: boolean): void => {
      probe.destroy()
      resolve(taken)
    }
    probe.once('connect', () => settle(true)).once('error', () => settle(false))
  })
}

export async function runReconnectScripts(python: string, name: string, tally: Tally): Promise<void> {
  const scripts = readdirSync(FOLDER).filter((file) => file.endsWith('.py'))
  await Promise.all(
    scripts.map((script) =>
      tally.check(`${name}: agno's ${script}`, async () => {
        const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' }
        const { stdout } = await promisify(execFile)(python, [join(FOLDER, script)], { env, timeout: SCRIPT_MS })
        if (!PASSED.test(stdout)) throw new Error(`it did not say ${PASSED}:\n${stdout.slice(-2000)}`)
      }),
    ),
  )
}
