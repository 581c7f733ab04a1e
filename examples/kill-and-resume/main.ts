/** Starts a run, kills the server with SIGKILL, starts it again, goes on from the last id: no gap, nothing twice. */
import { type ChildProcess, spawn } from 'node:child_process'
import { deepEqual, equal, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EventParser } from 'holdfast/sse'

const cli = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const agents = fileURLToPath(new URL('../hello/agents.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'))

interface Logged {
  readonly index: number
  readonly type: string
  readonly data: { readonly text?: string }
}

function startServer(): Promise<{ child: ChildProcess; url: string }> {
  const options = ['serve', agents, '--port', '0', '--store', `sqlite:${join(folder, 'runs.db')}`]
  const child = spawn(process.execPath, ['--conditions=holdfast-source', cli, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('the server did not start')))
    child.stdout.on('data', (text: Buffer) => {
      const [, url] = /listens at (\S+)/.exec(text.toString()) ?? []
      if (url !== undefined) resolve({ child, url })
    })
  })
}

/** Reads a stream until it has so many events, or ends. */
async function read(response: Response, most: number): Promise<Logged[]> {
  const events: Logged[] = []
  const parser = new EventParser({ event: ({ data }) => void events.push(JSON.parse(data) as Logged) })
  const decoder = new TextDecoder()
  for await (const chunk of response.body!) {
    parser.push(decoder.decode(chunk, { stream: true }))
    if (events.length >= most) break
  }
  return events.slice(0, most)
}

let server = await startServer()
try {
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
  const body = JSON.stringify({ component: 'counter', input: 'Wave' })
  const response = await fetch(`${server.url}/runs`, { method: 'POST', headers, body })
  const run = response.headers.get('location')!
  const before = await read(response, 12)

  server.child.kill('SIGKILL')
  server = await startServer()

  const lastId = String(before.at(-1)!.index)
  const after = await read(
    await fetch(`${server.url}${run}/events`, { headers: { 'last-event-id': lastId } }),
    Infinity,
  )
  const log = [...before, ...after]
  deepEqual(
    log.map(({ index }) => index),
    [...log.keys()],
  )
  equal(log.at(-1)?.type, 'run.completed')
  ok(log.some(({ type }) => type === 'run.started'))
  const counted = log.flatMap(({ data }) => data.text ?? []).map((text) => Number(/(\d+) of/.exec(text)![1]))
  deepEqual(
    counted,
    counted.map((_, position) => position + 1),
  )
  process.stdout.write(
    `kill-and-resume: ${before.length} events before the kill, ${after.length} after, none lost or doubled\n`,
  )
} finally {
  server.child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
