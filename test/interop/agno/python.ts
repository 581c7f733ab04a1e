/** A Python program that drives a server and says lines of JSON, one of which asks for the server to be killed and started again. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Served } from './served.ts'

const OUTPUT_CHARS_MAX = 4000

export interface Driven {
  readonly python: string
  readonly args: readonly string[]
  readonly server: Served
  readonly timeoutMs: number
}

/** Resolves with what went wrong, undefined where nothing did. */
export async function drive(
  { python, args, server, timeoutMs }: Driven,
  said: (line: unknown) => void,
): Promise<string | undefined> {
  const child = spawn(python, args, {
    cwd: import.meta.dirname,
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: timeoutMs,
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', AGNO_TELEMETRY: 'false' },
  })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-OUTPUT_CHARS_MAX)
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  for await (const text of createInterface({ input: child.stdout })) {
    if (!text.startsWith('{')) continue // what the library logs
    const line = JSON.parse(text) as { readonly restart?: boolean }
    if (line.restart === true) {
      await server.restart()
      child.stdin.write(`restarted ${server.pid}\n`)
    } else said(line)
  }
  const code = await ended
  return code === 0 ? undefined : `it ended with ${code ?? 'no time left'}\n${complaints}`
}
