/** An agent of the OpenAI Agents SDK hands over to another one. The model is a local script: no key, no network. */
import { deepEqual, equal } from 'node:assert/strict'
import { Agent, type Model, type ModelRequest, Runner, Usage } from '@openai/agents'
import { createServer, openMemoryStore } from 'holdfast'
import { openAiAgent } from 'holdfast/adapters'

type StreamEvent = ReturnType<Model['getStreamedResponse']> extends AsyncIterable<infer Event> ? Event : never
type Output = Extract<StreamEvent, { type: 'response_done' }>['response']['output']

/** Says a text, or calls a tool. */
function scripted(said: { readonly text: string } | { readonly call: string }): Model {
  const output: Output =
    'text' in said
      ? [
          {
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: said.text }],
          },
        ]
      : [{ type: 'function_call', callId: 'call-1', name: said.call, status: 'completed', arguments: '{}' }]
  const usage = { inputTokens: 5, outputTokens: 5, totalTokens: 10 }
  return {
    async getResponse() {
      return { usage: new Usage(usage), output }
    },
    async *getStreamedResponse(_request: ModelRequest): AsyncIterable<StreamEvent> {
      if ('text' in said) yield { type: 'output_text_delta', delta: said.text }
      yield { type: 'response_done', response: { id: crypto.randomUUID(), usage, output } }
    },
  }
}

const biologist = new Agent({ name: 'Biologist', model: scripted({ text: 'Kelp is an alga.' }) })
const desk = Agent.create({ name: 'Desk', model: scripted({ call: 'transfer_to_Biologist' }), handoffs: [biologist] })
const component = openAiAgent({ id: 'desk', agent: desk, runner: new Runner({ tracingDisabled: true }) })

const server = await createServer({ components: [component], store: openMemoryStore() })
try {
  const response = await fetch(`${server.url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ component: 'desk', input: 'What is kelp?' }),
  })
  const { id } = (await response.json()) as { id: string }
  const lines = (await (await fetch(`${server.url}/runs/${id}/events?format=ndjson`)).text()).split('\n')
  const log = lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Logged]))
  deepEqual(
    log.flatMap(({ type, data }) => (type === 'step.started' && data.key === undefined ? [data.name] : [])),
    ['Desk', 'Biologist'],
  )
  equal(log.at(-1)?.data.output, 'Kelp is an alga.')
  equal(log.at(-1)?.data.usage?.totalTokens, 20)
} finally {
  await server.stop()
}
process.stdout.write('openai-agents: one agent handed over to another\n')

interface Logged {
  readonly type: string
  readonly data: {
    readonly name?: string
    readonly key?: string
    readonly output?: unknown
    readonly usage?: { readonly totalTokens?: number }
  }
}
