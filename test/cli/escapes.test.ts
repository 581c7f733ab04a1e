/** Escape sequences in texts of agents and servers are not written to the terminal, in any field. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { lineText } from '../../src/cli/display/lines.ts'
import { RunTree } from '../../src/cli/display/tree.ts'
import { runCommand } from '../../src/cli/run-command.ts'
import { styleOf } from '../../src/cli/terminal/style.ts'
import type { LoggedEvent } from '../../src/core/model/event.ts'
import { startRun, untilStatus } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'

const ATTACK = '\u001b]0;PWNED\u0007\u001b[2J\u001b[5A\u009b8m'

/** All that a command writes to a terminal, without our own colours. */
async function seenBy(url: string, argv: readonly string[], term: string): Promise<string> {
  let seen = ''
  const output = { isTTY: true, columns: 100, rows: 30, write: (text: string) => void (seen += text) }
  await runCommand(argv, { stdout: output, stderr: output, env: { HOLDFAST_URL: url, TERM: term } })
  // oxlint-disable-next-line no-control-regex -- they are control characters
  return seen.replaceAll(/\u001b\[(?:[\d;]*m|\d*A|J)|\r(?=\u001b|$)/g, '')
}

const asker = agent<unknown>({
  id: 'asker',
  async *run(_, context) {
    yield `said ${ATTACK}`
    await context.ask({ prompt: `prompt ${ATTACK}` })
  },
})

test.each(['xterm', 'dumb'])(
  'CLI: terminal escapes in a run’s input, text and prompt are neutralized (TERM=%s)',
  async (term) => {
    const server = await serveInProcess({ components: [asker] })
    const { id } = await startRun(server, ATTACK, { component: 'asker' })
    await untilStatus(server, id, ['paused'])
    for (const argv of [['show', id], ['runs']]) {
      const seen = await seenBy(server.url, argv, term)
      expect(seen.replaceAll(/[^\p{Cc}]|\n/gu, ''), argv.join(' ')).toBe('')
    }
  },
)

/** Claims to be a Holdfast server, and sends escape sequences. */
async function serveAttacks(status: number, body: object): Promise<string> {
  const server = createServer(({ url }, response) => {
    if (url === '/health') return void response.end(JSON.stringify({ store: 'ok', draining: false }))
    const type = status < 400 ? 'application/json' : 'application/problem+json'
    response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each([['runs'], ['show', 'run_x'], ['tail', 'run_x'], ['stop', 'run_x'], ['share', 'run_x', '--list']])(
  'CLI: terminal escapes in the errors of a hostile server are neutralized by holdfast %s',
  async (...argv) => {
    const problem = { type: 'urn:holdfast:error:conflict', code: 'conflict', title: 'Conflict', status: 409 }
    const seen = await seenBy(await serveAttacks(409, { ...problem, detail: `no ${ATTACK}` }), argv, 'xterm')
    expect(seen).toContain('PWNED')
    expect(seen.replaceAll(/[^\p{Cc}]|\n/gu, '')).toBe('')
  },
)

test('CLI: terminal escapes in the share links of a hostile server are neutralized', async () => {
  const shares = [{ id: ATTACK, can: ['read'], expiresAt: ATTACK }]
  const seen = await seenBy(await serveAttacks(200, { shares }), ['share', 'run_x', '--list'], 'xterm')
  expect(seen).toContain('PWNED')
  expect(seen.replaceAll(/[^\p{Cc}]|\n/gu, '')).toBe('')
})

test('CLI: terminal escapes in a question’s id, which can be the name of a tool, are neutralized', () => {
  const time = new Date().toISOString()
  const event = { type: 'run.paused', run: 'run_1', index: 1, time, data: { questions: [{ id: ATTACK, prompt: '?' }] } }
  const lines = new RunTree().apply(event as LoggedEvent)
  const text = lines.map((line) => lineText(line, styleOf({ write: () => {} }, {}))).join('')
  expect(text).toContain('PWNED')
  expect(text).not.toMatch(/\p{Cc}/u)
})
