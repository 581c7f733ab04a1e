/** The program of docs/components.md#schemas does what the page says. */
import { expect, test } from 'vitest'
import { blocksOf, runProgram } from '../support/doc-programs.ts'

test('docs/components.md: the program with schemas runs, asks and answers', async () => {
  const program = blocksOf('docs/components.md', 'ts').find((block) => block.includes("from 'zod'"))!
  const printed = await runProgram(`${program}
    import { holdfast } from 'holdfast'
    const hf = holdfast({ components: [planner], store: 'memory:', protocols: [] })
    const refused = await hf.runs.start({ component: 'planner', input: { city: 'Oslo' } }).catch((error) => error.message)
    const run = await hf.runs.start({ component: 'planner', input: { city: 'Oslo', from: '2026-11-17' } })
    for await (const event of run.events()) {
      if (event.type === 'run.paused') await run.answer({ answers: { [event.data.questions[0].id]: { days: 3 } } })
      if (event.type === 'run.completed') console.log(JSON.stringify([refused, event.data.output]))
    }
    await hf.close()`)
  expect(JSON.parse(printed)).toEqual([
    expect.stringMatching(/^the input does not match the schema of planner: from: /),
    { days: 3 },
  ])
})
