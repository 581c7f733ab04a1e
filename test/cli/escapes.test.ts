/** Text of agents and servers cannot take a terminal over, whatever field it is in. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { agent } from '../../src/agents/generator.ts'
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
  'CLI: a run with escapes in its input, text and prompt is shown (TERM=%s)',
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

test.each([['runs'], ['show', 'run_x'], ['tail', 'run_x'], ['stop', 'run_x']])(
  'CLI: the error text of a hostile server is shown by holdfast %s',
  async (...argv) => {
    const server = createServer((_, response) => {
      const body = { type: 'urn:holdfast:error:not_found', title: 'Not Found', status: 404, detail: `no ${ATTACK}` }
      response.writeHead(404, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => server.close().closeAllConnections())
    const seen = await seenBy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, argv, 'xterm')
    expect(seen).not.toBe('')
    expect(seen.replaceAll(/[^\p{Cc}]|\n/gu, '')).toBe('')
  },
)

test('CLI: the id of a question, which can be the name of a tool, is shown', () => {
  const time = new Date().toISOString()
  const event = { type: 'run.paused', run: 'run_1', index: 1, time, data: { questions: [{ id: ATTACK, prompt: '?' }] } }
  const lines = new RunTree().apply(event as LoggedEvent)
  const text = lines.map((line) => lineText(line, styleOf({ write: () => {} }, {}))).join('')
  expect(text).toContain('PWNED')
  expect(text).not.toMatch(/\p{Cc}/u)
})
