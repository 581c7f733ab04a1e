/** `holdfast demo`: quick to start, and on a real model where the environment names one. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startRun, untilFinished } from '../support/http.ts'
import { openResponsesProvider } from '../support/responses-provider.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { CommandLine, run } from './command-line.ts'

const MEMORY = ['demo', '--port', '0', '--store', 'memory:']
const NO_KEYS = { OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '' }

/** Writes down which packages are loaded. */
const TELLTALE = `
import { registerHooks } from 'node:module'
registerHooks({
  load(url, context, next) {
    const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)?.[1]
    if (name !== undefined) process.stdout.write('loaded ' + name + '\\n')
    return next(url, context)
  },
})
`

test('holdfast demo loads the AI SDK and zod at the first run, not at startup', async () => {
  const telltale = join(temporaryFolder(), 'telltale.mjs')
  writeFileSync(telltale, TELLTALE)
  const env = { ...NO_KEYS, NODE_OPTIONS: `--import=${pathToFileURL(telltale).href}` }
  const server = new CommandLine(MEMORY, { env })
  const url = await server.url()
  const [before] = server.stdout.split('Holdfast listens')
  expect(before).not.toMatch(/loaded (?:ai|zod|@ai-sdk\S*)\n/)
  await startRun({ url }, 'hello', { component: 'clerk' })
  await until('they are loaded', () => /loaded ai\n[^]*loaded zod\n|loaded zod\n[^]*loaded ai\n/.test(server.stdout), {
    withinMs: 180_000,
  })
})

interface Request {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Readonly<Record<string, unknown>>
}

/** A provider that responds with events derived from the request. */
async function openProvider(answer: (request: Request) => readonly (readonly [event: string, data: unknown])[]) {
  const requests: Request[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = (await request.toArray()).join('')
    const seen = { path: request.url!, headers: request.headers, body: text === '' ? {} : JSON.parse(text) }
    requests.push(seen)
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/json')
      return void response.end(JSON.stringify({ object: 'list', data: [{ id: 'first' }, { id: 'second' }] }))
    }
    response.setHeader('content-type', 'text/event-stream')
    for (const [event, data] of answer(seen))
      response.write(`${event === '' ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`)
    response.end()
  }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests }
}

function chatAnswer(...words: readonly string[]): (readonly [string, unknown])[] {
  const chunk = (delta: object, finish: string | null): readonly [string, unknown] => [
    '',
    { id: 'c', object: 'chat.completion.chunk', created: 0, choices: [{ index: 0, delta, finish_reason: finish }] },
  ]
  return [...words.map((content) => chunk({ role: 'assistant', content }, null)), chunk({}, 'stop')]
}

function anthropicAnswer(...words: readonly string[]): (readonly [string, unknown])[] {
  const usage = { input_tokens: 3, output_tokens: 1 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [], usage }
  const events = [
    { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...words.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ]
  return events.map((event) => [event.type, event])
}

async function reportOf(server: CommandLine, component = 'storyteller'): Promise<unknown> {
  const target = { url: await server.url() }
  const { id } = await startRun(target, 'Tell me a story', { component })
  return untilFinished(target, id, 60_000)
}

describe('holdfast demo with a real model', () => {
  test('HOLDFAST_MODEL_URL: the first model of an OpenAI-compatible server is used', async () => {
    const { url, requests } = await openProvider(() => chatAnswer('A ', 'real ', 'story'))
    const server = new CommandLine(MEMORY, { env: { ...NO_KEYS, HOLDFAST_MODEL_URL: url, HOLDFAST_MODEL_KEY: 'k' } })
    expect(await reportOf(server)).toMatchObject({ status: 'completed', output: 'A real story' })
    expect(server.stdout).toContain(`Model: the first model at ${url}\n`)
    expect(requests.map(({ path }) => path)).toEqual(['/v1/models', '/v1/chat/completions'])
    expect(requests.every(({ headers }) => headers.authorization === 'Bearer k')).toBe(true)
    expect(requests[1]!.body).toMatchObject({ model: 'first', stream: true })
  })

  test('HOLDFAST_MODEL: the named model is used, also by the team and the workflow', async () => {
    const { url, requests } = await openProvider(() => chatAnswer('Done'))
    const server = new CommandLine([...MEMORY, '--model', 'llama'], { env: { ...NO_KEYS, HOLDFAST_MODEL_URL: url } })
    for (const component of ['newsroom', 'publish'])
      expect(await reportOf(server, component)).toMatchObject({ status: 'completed' })
    expect(server.stdout).toContain(`Model: llama at ${url}\n`)
    expect(new Set(requests.map(({ body }) => body['model']))).toEqual(new Set(['llama']))
    expect(requests).toHaveLength(3) // the editor; the outliner and the researcher
  })

  test('ANTHROPIC_API_KEY: Anthropic is called', async () => {
    const { url, requests } = await openProvider(() => anthropicAnswer('A ', 'real ', 'story'))
    const env = { ...NO_KEYS, ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url }
    const server = new CommandLine(MEMORY, { env })
    expect(await reportOf(server)).toMatchObject({ status: 'completed', output: 'A real story' })
    expect(server.stdout).toMatch(/Model: claude-\S+ of Anthropic \(ANTHROPIC_API_KEY\)\n/)
    expect(requests).toMatchObject([{ path: '/v1/messages', headers: { 'x-api-key': 'k' } }])
  })

  test('OPENAI_API_KEY: OpenAI is called, in background mode', async () => {
    const provider = await openResponsesProvider()
    const env = { ...NO_KEYS, OPENAI_API_KEY: 'k', OPENAI_BASE_URL: provider.url, HOLDFAST_MODEL: 'gpt-9' }
    const server = new CommandLine(MEMORY, { env })
    const finished = reportOf(server)
    await until('it is asked', () => provider.generations.length > 0, { withinMs: 180_000 })
    provider.say('A ', 'real ', 'story')
    provider.finish()
    expect(await finished).toMatchObject({ status: 'completed', output: 'A real story' })
    expect(server.stdout).toContain('Model: gpt-9 of OpenAI (OPENAI_API_KEY)\n')
    expect(provider.seen).toMatchObject([{ headers: { authorization: 'Bearer k' }, body: { model: 'gpt-9' } }])
  })

  test('a server that does not list its models fails the run with a hint', async () => {
    const env = { ...NO_KEYS, HOLDFAST_MODEL_URL: 'http://127.0.0.1:1/v1' }
    const finished = await reportOf(new CommandLine(MEMORY, { env }))
    expect(finished).toMatchObject({ status: 'failed', error: { message: /select one with --model/ } })
  })
})

test.each([
  [{ HOLDFAST_MODEL: 'llama' }, /--model needs --model-url, OPENAI_API_KEY or ANTHROPIC_API_KEY/],
  [{ HOLDFAST_MODEL_URL: 'localhost:11434' }, /HOLDFAST_MODEL_URL: "localhost:11434" is not an address/],
  [{ HOLDFAST_MODEL_URLS: 'x' }, /unknown variable HOLDFAST_MODEL_URLS: did you mean HOLDFAST_MODEL_URL\?/],
])('holdfast demo rejects %j with a one-line reason', async (env, spoken) => {
  const { code, stderr } = await run(MEMORY, { env: { ...NO_KEYS, ...env } })
  expect(code).toBe(2)
  expect(stderr).toMatch(spoken)
})
