/** An agent object of the AI SDK, served as it is: its tools and its answer are in the log. */
import { deepEqual, equal } from 'node:assert/strict'
import { tool, ToolLoopAgent } from 'ai'
import { createServer, openMemoryStore } from 'holdfast'
import { aiAgent } from 'holdfast/adapters'
import { scriptedModel } from 'holdfast/ai'
import { z } from 'zod'

const agent = new ToolLoopAgent({
  model: scriptedModel({
    script: ({ results }) =>
      results.length === 0
        ? [{ type: 'tool', name: 'depth', input: { place: 'the kelp forest' } }]
        : `It is ${String(results[0]!.output)} metres deep.`,
  }),
  tools: { depth: tool({ inputSchema: z.object({ place: z.string() }), execute: () => 12 }) },
})

const server = await createServer({ components: [aiAgent({ id: 'diver', agent })], store: openMemoryStore() })
try {
  const response = await fetch(`${server.url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ component: 'diver', input: 'How deep is it?' }),
  })
  const { id } = (await response.json()) as { id: string }
  const lines = (await (await fetch(`${server.url}/runs/${id}/events?format=ndjson`)).text()).split('\n')
  const log = lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Logged]))
  deepEqual(
    log.filter(({ type }) => type.startsWith('tool.c')).map(({ type }) => type),
    ['tool.called', 'tool.completed'],
  )
  equal(log.at(-1)?.type, 'run.completed')
  equal(log.at(-1)?.data.output, 'It is 12 metres deep.')
} finally {
  await server.stop()
}
process.stdout.write('ai-agent: a tool was called, and its answer is the output\n')

interface Logged {
  readonly type: string
  readonly data: { readonly output?: unknown }
}
