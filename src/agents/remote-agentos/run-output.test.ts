import { expect, test } from 'vitest'
import { RemoteRunOutput } from './run-output.ts'

test('remote AgentOS: content longer than an event is text in pieces, and is not repeated at the end', () => {
  const content = '🦊 and ☂\n'.repeat(700_000)
  const runOutput = new RemoteRunOutput('id', 'remote', 'agent')
  const events = [...runOutput.add({ event: 'RunCompleted', run_id: 'remote', content })]
  const texts = events.flatMap((event) => (event.type === 'text.delta' ? [event.data.text] : []))
  expect(texts.join('') === content).toBe(true)
  expect(texts.every((text) => text.isWellFormed())).toBe(true)
  expect(Math.max(...texts.map((text) => JSON.stringify(text).length))).toBeLessThan(2 ** 20)
  expect(runOutput.end).toEqual({ event: 'RunCompleted', run_id: 'remote' })
})

test.each([
  ['text', 'x'.repeat(5_000_000)],
  ['JSON', { rows: Array.from({ length: 500_000 }, (_, row) => ({ row })) }],
])('remote AgentOS: a tool result that is longer than an event is cut, and says so (%s)', (_kind, result) => {
  const runOutput = new RemoteRunOutput('id', 'remote', 'agent')
  const [event] = runOutput.add({ event: 'ToolCallCompleted', run_id: 'remote', tool: { tool_name: 'read', result } })
  expect(event).toMatchObject({ type: 'tool.completed', data: { name: 'read' } })
  const { output } = event!.data as { output: string }
  expect(output).toMatch(/\[cut: 262144 of \d+ characters; the whole is too long for an event\]$/)
})

test('remote AgentOS: a tool result that fits into an event is complete', () => {
  const result = { text: 'x'.repeat(3_000_000) }
  const runOutput = new RemoteRunOutput('id', 'remote', 'agent')
  const [event] = runOutput.add({ event: 'ToolCallCompleted', run_id: 'remote', tool: { result } })
  expect(event!.data).toMatchObject({ output: result })
})

test('remote AgentOS: content that fits an event is the output', () => {
  const runOutput = new RemoteRunOutput('id', 'remote', 'agent')
  void [...runOutput.add({ event: 'RunCompleted', run_id: 'remote', content: 'all' })]
  expect(runOutput.end).toMatchObject({ event: 'RunCompleted', content: 'all' })
})
