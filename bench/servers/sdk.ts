/**
 * The AI SDK alone: `streamText` behind plain `node:http`, without persistence. `served` streams the parts like the SDK does; `drained`
 * only consumes the texts and sends them at the end.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { streamText } from 'ai'
import { Gate } from '../agent.ts'
import { MARKER_BYTES } from '../stream-reader.ts'
import { promptOf, WordsModels } from '../words-model.ts'
import { takeCommands } from './control.ts'

type Mode = 'served' | 'drained'

const mode = process.argv[2] as Mode
const gate = new Gate()
const models = new WordsModels(gate)

async function start(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: unknown }
  const prompt = promptOf(input)
  const result = streamText({ model: models[models.for(prompt)], prompt })
  if (mode === 'served') return result.pipeUIMessageStreamToResponse(response)
  response.writeHead(200).write('\n')
  let answer = ''
  for await (const word of result.textStream) answer += word.padEnd(MARKER_BYTES)
  response.end(answer)
}

const http = createServer((request, response) => void start(request, response))
http.listen(0, '127.0.0.1', () => takeCommands((http.address() as AddressInfo).port, gate, () => {}))
