/** Tools of an MCP server: the agent's run starts it, calls it, and ends it. */
import { equal } from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { createServer, openMemoryStore } from 'holdfast'
import { agent, mcp, scriptedModel } from 'holdfast/ai'

const pilot = agent({
  id: 'pilot',
  tools: mcp({ tides: { command: process.execPath, args: [fileURLToPath(new URL('server.ts', import.meta.url))] } }),
  model: scriptedModel({
    script: ({ turn, text, results }) =>
      turn === 1
        ? [{ type: 'tool', name: 'high_water', input: { harbour: text } }]
        : `High water: ${(results[0]!.output as { text: string }[])[0]!.text}`,
  }),
})

const server = await createServer({ components: [pilot], store: openMemoryStore() })
try {
  const response = await fetch(`${server.url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ component: 'pilot', input: 'Kirkwall' }),
  })
  const { id } = (await response.json()) as { id: string }
  const lines = (await (await fetch(`${server.url}/runs/${id}/events?format=ndjson`)).text()).trim().split('\n')
  const last = JSON.parse(lines.at(-1)!) as { type: string; data: { output?: unknown } }
  equal(last.type, 'run.completed')
  equal(last.data.output, 'High water: Kirkwall: 14:20')
} finally {
  await server.stop()
}
process.stdout.write('mcp: the answer rests on a tool of the server\n')
