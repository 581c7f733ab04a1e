/**
 * A scripted model behind chat completions. The last message of the user is the script: `words 20 every 50`, `cut 3`, `silent 3`, `hang 3`, `refuse`,
 * `tool odd`. Anything else is answered with 40 words.
 */
import { createServer, type ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'

export interface ModelServer {
  readonly url: string
  close(): void
}

const MODEL = 'scripted'

export async function startModelServer(port: number): Promise<ModelServer> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (piece: Buffer) => chunks.push(piece))
    request.on('end', () => {
      if (request.method === 'GET') return respond(response, { object: 'list', data: [{ id: MODEL, object: 'model' }] })
      const body = JSON.parse(Buffer.concat(chunks).toString()) as ChatRequest
      if (/\brefuse\b/.test(lastOf(body))) return void response.writeHead(500).end('{"error":{"message":"no GPU"}}')
      play(response, scriptIn(body), body.stream === true).catch(() => response.destroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close: () => server.close().closeAllConnections(),
  }
}

interface ChatRequest {
  readonly stream?: boolean
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
}

interface Script {
  readonly what: string
  readonly count: number
  readonly everyMs: number
  readonly chars: number
  readonly tool?: string
}

function lastOf({ messages }: ChatRequest): string {
  return JSON.stringify(messages.findLast(({ role }) => role === 'user')?.content ?? '')
}

function scriptIn(request: ChatRequest): Script {
  const output = lastOf(request)
  const [, tool] = /\btool (\w+)/.exec(output) ?? []
  // After its result, the model answers.
  if (tool !== undefined && request.messages.at(-1)?.role !== 'tool')
    return { what: 'tool', count: 0, everyMs: 0, chars: 0, tool }
  const [, what = 'words', count = '40', everyMs = '30', chars = '0'] =
    /(words|cut|silent|hang) (\d+)(?: every (\d+))?(?: size (\d+))?/.exec(output) ?? []
  return { what, count: Number(count), everyMs: Number(everyMs), chars: Number(chars) }
}

async function play(
  response: ServerResponse,
  { what, count, everyMs, chars, tool = '' }: Script,
  isStream: boolean,
): Promise<void> {
  const words = Array.from({ length: count }, (_, number) => `w${number}${'x'.repeat(chars)} `)
  if (!isStream) return respond(response, completion(words.join('')))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const content of words) {
    response.write(chunk({ content }, null))
    await wait(everyMs)
  }
  if (what === 'hang') return
  if (what === 'tool') {
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: tool, arguments: '{}' } }
    response.write(chunk({ role: 'assistant', tool_calls: [call] }, null))
    return void response.end(`${chunk({}, 'tool_calls', { usage: usageOf(1) })}data: [DONE]\n\n`)
  }
  if (what === 'cut') return void response.destroy()
  if (what === 'words') response.write(chunk({}, 'stop', { usage: usageOf(count) }))
  response.end(what === 'words' ? 'data: [DONE]\n\n' : '')
}

function chunk(delta: object, finish: string | null, more: object = {}): string {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: MODEL, choices, ...more })}\n\n`
}

function completion(content: string): object {
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
  return { id: 'c1', object: 'chat.completion', created: 1, model: MODEL, choices, usage: usageOf(1) }
}

function usageOf(tokens: number): object {
  return { prompt_tokens: 1, completion_tokens: tokens, total_tokens: tokens + 1 }
}

function respond(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
