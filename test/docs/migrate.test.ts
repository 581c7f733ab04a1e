/** The pages "migrate from": the programs before and after the change run, with the same result. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { blocksOf, runProgram } from '../support/doc-programs.ts'
import { freePort } from '../support/free-port.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'

const root = join(import.meta.dirname, '../..')
const MODEL = `import { scriptedModel } from 'holdfast/ai'
export const model = scriptedModel({ script: () => 'Kelp is an alga.' })
`

/** Serves the exports of `route.ts`, sends one request with `client.ts`, and prints the response. */
const HARNESS = `import { createServer } from 'node:http'
import { serve } from '@hono/node-server'
import * as route from './route.ts'
import { ask } from './client.ts'
serve({ fetch: (request) => route[request.method](request), port: PORT, hostname: '127.0.0.1' }, async () => {
  let text = ''
  for await (const piece of ask('kelp')) text += piece
  console.log(text)
  process.exit()
})
`

function project(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'node_modules'))
  for (const name of ['ai', 'assistant-stream', 'hono', '@hono', '@tanstack'])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  symlinkSync(root, join(folder, 'node_modules/holdfast'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  for (const [name, text] of Object.entries({ 'model.ts': MODEL, ...files })) writeFileSync(join(folder, name), text)
  return folder
}

function start(folder: string, ...program: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, ['--conditions=holdfast-source', '--no-warnings', ...program], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** One side of a diff: the lines without a sign, and those with this one. */
function side(diff: string, sign: '-' | '+'): string {
  const lines = diff.split('\n').filter((line) => line === '' || line.startsWith(' ') || line.startsWith(sign))
  return lines.map((line) => line.slice(1)).join('\n')
}

async function answerOf(route: string, client: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const port = String(await freePort())
  const at = (text: string): string => text.replaceAll(/localhost:3000/g, `127.0.0.1:${port}`)
  const main = HARNESS.replace('PORT', port)
  const folder = project({ ...files, 'route.ts': at(route), 'client.ts': at(client), 'main.ts': main })
  let output = ''
  for await (const chunk of start(folder, 'main.ts').stdout!) output += String(chunk)
  return output
}

test.each(['-', '+'] as const)('docs/migrate/stream-text.md: the %s side of the diff answers', async (sign) => {
  const [route = '', client = ''] = blocksOf('docs/migrate/stream-text.md', 'diff')
  expect(await answerOf(side(route, sign), side(client, sign))).toBe('Kelp is an alga.\n')
})

test.each(['-', '+'] as const)('docs/migrate/durable.md: the %s side of the diff answers useChat', async (sign) => {
  const [route = ''] = blocksOf('docs/migrate/durable.md', 'diff')
  const client = `import { DefaultChatTransport, readUIMessageStream } from 'ai'
  const transport = new DefaultChatTransport({ api: 'http://localhost:3000/api/chat' })
  const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'What is kelp?' }] }
  const textIn = async (stream) => {
    let last
    for await (const state of readUIMessageStream({ stream })) last = state
    return last.parts.find(({ type }) => type === 'text').text
  }
  export async function* ask() {
    yield await textIn(await transport.sendMessages({ chatId: 'c1', messages: [message], trigger: 'submit-message' }))
    if (${sign === '+'}) yield ' ' + (await textIn(await transport.reconnectToStream({ chatId: 'c1' })))
  }`
  const whole = 'Kelp is an alga.'
  expect(await answerOf(side(route, sign), client)).toBe(sign === '+' ? `${whole} ${whole}\n` : `${whole}\n`)
})

test('docs/migrate/resumable-stream.md: the result of the diff answers, and a second reader gets the same run', async () => {
  const [route = ''] = blocksOf('docs/migrate/resumable-stream.md', 'diff')
  const [client = ''] = blocksOf('docs/migrate/resumable-stream.md', 'ts')
  expect(await answerOf(side(route, '+'), client)).toBe('Kelp is an alga.\n')
})

test('docs/resumable-stream.md: the route with the changed import streams an answer, which is complete for later readers', async () => {
  const [route = ''] = blocksOf('docs/resumable-stream.md', 'diff')
  const client = `export async function* ask(prompt) {
    const body = JSON.stringify({ id: 'chat', prompt })
    const answer = await fetch('http://localhost:3000', { method: 'POST', body })
    yield* answer.body.pipeThrough(new TextDecoderStream())
    yield ' ' + (await fetch('http://localhost:3000?id=chat')).status
  }`
  expect(await answerOf(side(route, '+'), client)).toBe('Kelp is an alga. 204\n')
})

test('docs/resumable-stream.md: a stream is a run of the application', async () => {
  const [program = ''] = blocksOf('docs/resumable-stream.md', 'ts')
  expect(await runProgram(program)).toBe('Hello, kelp: completed\n')
})

test('docs/assistant-stream.md: the route with the changed store streams an answer, which a later reader gets byte by byte', async () => {
  const [route = ''] = blocksOf('docs/assistant-stream.md', 'diff')
  const client = `import { DataStreamDecoder } from 'assistant-stream'
  export async function* ask(prompt) {
    const body = JSON.stringify({ id: 'chat', prompt })
    const url = 'http://localhost:3000'
    for (const answer of [await fetch(url, { method: 'POST', body }), await fetch(url + '?id=chat')])
      for await (const { type, textDelta } of answer.body.pipeThrough(new DataStreamDecoder()))
        if (type === 'text-delta') yield textDelta
  }`
  expect(await answerOf(side(route, '+'), client)).toBe('Kelp is an alga.Kelp is an alga.\n')
})

test.each(['-', '+'] as const)(
  'docs/tanstack-ai.md: the %s side of the diff streams an answer, which a later reader gets again',
  async (sign) => {
    const [route = ''] = blocksOf('docs/tanstack-ai.md', 'diff')
    const client = `export async function* ask(prompt) {
      const body = JSON.stringify({ prompt })
      const posted = await fetch('http://localhost:3000', { method: 'POST', headers: { 'x-run-id': 'r' }, body })
      const textOf = async (answer) => [...(await answer.text()).matchAll(/"delta":"(.*?)"/g)].map(([, delta]) => delta).join('')
      yield await textOf(posted)
      yield await textOf(await fetch('http://localhost:3000?runId=r&offset=-1'))
    }`
    const answer = `export async function* answer(prompt: string) {
      yield { type: 'RUN_STARTED', runId: 'r', threadId: 't' }
      for (const delta of [prompt, ' is an alga.']) yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta }
      yield { type: 'RUN_FINISHED', runId: 'r', threadId: 't', finishReason: 'stop' }
    }`
    const spoken = await answerOf(side(route, sign), client, { 'answer.ts': answer })
    expect(spoken).toBe('kelp is an alga.kelp is an alga.\n')
  },
)

/** Runs the page's `holdfast serve` with its agents. */
async function serve(page: string): Promise<string> {
  const [agents = ''] = blocksOf(page, 'ts')
  const [commands = ''] = blocksOf(page, 'sh')
  const [, , file = '', ...flags] = commands.split('\n', 1)[0]!.split(' ')
  const port = String(await freePort())
  const argv = flags.map((flag) => flag.replace('7777', port))
  const folder = project({ [file]: agents })
  start(folder, join(root, 'src/cli/main.ts'), 'serve', file, ...argv, '--store', 'memory:')
  const url = `http://127.0.0.1:${port}`
  await until('the server listens', () =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return url
}

test('docs/migrate/agentos.md: the agent answers the request of the page', async () => {
  const url = await serve('docs/migrate/agentos.md')
  const body = new FormData()
  body.set('message', 'What is kelp?')
  body.set('stream', 'true')
  const events = await (await fetch(`${url}/agents/writer/runs`, { method: 'POST', body })).text()
  expect(events).toContain('event: RunStarted')
  expect(events).toContain('event: RunCompleted')
  expect(events).toContain('Kelp is an alga.')
  expect((await fetch(`${url}/memories`)).status).toBe(404)
})

test('docs/migrate/fasta2a.md: a client that follows the card at the root gets its answer', async () => {
  const url = await serve('docs/migrate/fasta2a.md')
  const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as { url: string }
  expect(card.url).toBe(`${url}/a2a/writer`)
  const message = { kind: 'message', role: 'user', messageId: 'm1', parts: [{ kind: 'text', text: 'What is kelp?' }] }
  const sent = await fetch(card.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }),
  })
  expect(JSON.stringify(await sent.json())).toContain('Kelp is an alga.')
})
