/** The server behind the proxies: the same agent as chat completions, by plain `node:http`. It stores nothing. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Gate, produce, workIn } from '../agent.ts'
import { takeCommands } from './control.ts'

const gate = new Gate()
const USAGE = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
let answers = 0

/** Unsent bytes of a response above which the agent waits. */
const UNSENT_BYTES_MAX = 1024 * 1024

async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = []
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece)
  const head = `"id":"chatcmpl-${++answers}","object":"chat.completion.chunk","created":1767225600,"model":"bench"`
  const chunk = (delta: string, finish = 'null', more = ''): string =>
    `data: {${head},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]${more}}\n\n`
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  // As OpenAI does, and so that every proxy has begun its own response before the measurement.
  response.write(chunk('{"role":"assistant","content":""}'))
  for await (const text of produce(workIn(JSON.parse(Buffer.concat(pieces).toString())), gate)) {
    if (response.destroyed) return
    if (!response.write(chunk(`{"content":${JSON.stringify(text)}}`)) && response.writableLength > UNSENT_BYTES_MAX)
      await new Promise((resolve) => response.once('drain', resolve).once('close', resolve))
  }
  response.end(`${chunk('{}', '"stop"', `,"usage":${JSON.stringify(USAGE)}`)}data: [DONE]\n\n`)
}

const http = createServer((request, response) => {
  if (request.method === 'POST') return void complete(request, response)
  const models = { object: 'list', data: [{ id: 'bench', object: 'model', created: 0, owned_by: 'bench' }] }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(models))
})
http.listen(0, '127.0.0.1', () => takeCommands((http.address() as AddressInfo).port, gate, () => {}))
