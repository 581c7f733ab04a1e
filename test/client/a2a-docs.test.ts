/** The programs of docs/a2a-client.md, against a served agent. */
import { expect, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { serveA2a } from '../protocols/a2a/serve.ts'
import { blocksOf, runProgram } from '../support/doc-programs.ts'

const assistant = agent<unknown>({
  id: 'assistant',
  async *run(input, context) {
    if (input === 'Book a table') yield `booked ${String(await context.ask({ prompt: 'For how many?' }))}`
    else yield 'Kelp sways in the tide'
  },
})

test('docs/a2a-client.md: its programs run, and the second answers a waiting task', async () => {
  const { url } = await serveA2a({ components: [assistant] })
  const programs = blocksOf('docs/a2a-client.md', 'ts')
  expect(programs).toHaveLength(2)
  const ending = `console.log(JSON.stringify((await client.get(task.id)).artifacts))\nawait client.close()`
  const source = [...programs, ending].join('\n').replaceAll('http://localhost:7777', url)
  const printed = await runProgram(source)
  expect(printed).toContain('Kelp sways in the tide')
  expect(printed).toContain('TASK_STATE_COMPLETED')
  expect(printed).toContain('booked for two')
})
