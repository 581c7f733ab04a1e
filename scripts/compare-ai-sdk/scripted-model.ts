/** A model behind chat completions. `words N` in a request says how many it streams, `cut` that it breaks off, `tool` that it calls one. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

const EVERY_MS = 100

export interface ScriptedModel {
  readonly url: string
  /** Words that it has sent so far, in all requests. */
  readonly sent: () => number
  readonly close: () => void
}

export async function startModel(): Promise<ScriptedModel> {
  let sent = 0
  const server = createServer((request, response) => {
    const play = async (): Promise<void> => {
      const body = await text(request)
      const [, kind = 'words', count = '1'] = /(words|cut|tool) (\d+)/.exec(body) ?? []
      const hasResult = /"role":"tool"/.test(body)
      const first = hasResult ? Number(count) : 0
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let word = first; word < first + Number(count) && !response.destroyed; word++) {
        send(response, { role: 'assistant', content: `w${word} ` }, null)
        sent++
        await sleep(EVERY_MS)
      }
      if (kind === 'cut') return void response.destroy()
      const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'lookup', arguments: '{}' } }
      if (kind === 'tool' && !hasResult) send(response, { tool_calls: [call] }, null)
      send(response, {}, kind === 'tool' && !hasResult ? 'tool_calls' : 'stop')
      response.end('data: [DONE]\n\n')
    }
    play().catch(() => response.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1`, sent: () => sent, close: () => void server.close() }
}

function send(response: ServerResponse, delta: object, finish: string | null): void {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  const chunk = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices }
  response.write(`data: ${JSON.stringify(chunk)}\n\n`)
}
