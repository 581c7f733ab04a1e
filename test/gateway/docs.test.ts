/** docs/gateway.md: its commands are accepted, and its program runs in front of servers in place of those that it names. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { gateway } from '../../src/cli/commands/gateway.ts'
import { parseOptions } from '../../src/server/config/options.ts'
import { blocksOf, runProgram } from '../support/doc-programs.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { chunk, playing, sse, startChatServer } from './chat-server.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/gateway.md'), 'utf8')

test('docs/gateway.md and README.md: every command line is one that the gateway accepts', () => {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
  const lines = [...(page + readme).matchAll(/npx holdfast gateway ([^`\n|]+)/g)].map(([, flags]) => flags!.trim())
  expect(lines.length).toBeGreaterThan(5)
  for (const line of lines) {
    const { values, positionals } = parseOptions(gateway.options, line.split(/\s+/), {})
    expect(positionals).toEqual([])
    expect(values).toHaveProperty('upstream')
  }
})

test('docs/gateway.md: the program serves components of upstreams beside its own', { timeout: 120_000 }, async () => {
  const [program] = blocksOf('docs/gateway.md', 'ts')
  const chat = await startChatServer({ m: playing(sse(chunk({ content: 'hi' }), chunk({}, 'stop'), '[DONE]')) })
  const source = program!
    .replace('http://localhost:11434/v1', chat.url)
    .replace('http://localhost:8000', 'http://127.0.0.1:9')
    .replace('port: 7777', 'port: 0')
    .replace('sqlite:runs.db', `sqlite:${temporaryDatabase()}`)
  const output = await runProgram(`${source}
const served = await (await fetch(server.url + '/v1/models')).json()
console.log(served.data.map(({ id }: { id: string }) => id).join(' '))
await server.close()
`)
  expect(output.trim()).toBe('mine m')
})
