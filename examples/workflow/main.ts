/** A workflow is killed in the middle of a parallel block, and goes on: what was done is not done again. */
import { type ChildProcess, spawn } from 'node:child_process'
import { deepEqual, equal } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const cli = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const file = fileURLToPath(new URL('./publish.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
const done = join(folder, 'done.txt')

function startServer(): Promise<{ child: ChildProcess; url: string }> {
  const options = ['serve', file, '--port', '0', '--store', `sqlite:${join(folder, 'runs.db')}`]
  const child = spawn(process.execPath, ['--conditions=holdfast-source', cli, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, DONE_FILE: done },
  })
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('the server did not start')))
    child.stdout.on('data', (text: Buffer) => {
      const [, url] = /listens at (\S+)/.exec(text.toString()) ?? []
      if (url !== undefined) resolve({ child, url })
    })
  })
}

async function eventually<Value>(look: () => Promise<Value | false>): Promise<Value> {
  for (let tries = 0; tries < 400; tries++) {
    const value = await look().catch(() => false as const)
    if (value !== false) return value
    await sleep(25)
  }
  throw new Error('it did not happen')
}

let server = await startServer()
try {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ component: 'publish', input: 'kelp' })
  const { id } = (await (await fetch(`${server.url}/runs`, { method: 'POST', headers, body })).json()) as { id: string }
  // The quick branch is done, the slow one is not.
  await eventually(async () => readFileSync(done, 'utf8').includes('pictures'))
  await sleep(100)
  server.child.kill('SIGKILL')
  server = await startServer()
  const run = await eventually(async () => {
    const found = (await (await fetch(`${server.url}/runs/${id}`)).json()) as { status: string; output?: unknown }
    return found.status === 'completed' && found
  })
  equal(run.output, 'kelp: 3 facts, a picture')
  const counted = readFileSync(done, 'utf8').trim().split('\n')
  deepEqual(
    counted.filter((line) => line !== 'facts begun'),
    ['outline', 'pictures', 'facts', 'print'],
  )
} finally {
  server.child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
process.stdout.write('workflow: finished steps and branches were not done again\n')
