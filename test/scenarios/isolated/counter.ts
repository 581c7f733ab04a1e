/** An agent that counts, and resumes where it was after a crash. */
import { agent } from '../../../src/agents/agent.ts'

export const counter = agent({
  id: 'counter',
  recovery: 'resume',
  async *run(goal: number, { step, sleep }) {
    const seed = await step('seed', () => Math.random())
    for (let n = 1; n <= goal; n++) {
      yield `${n} `
      if (n % 10 === 0) await step(`record ${n}`, () => seed)
      await sleep(5)
    }
    return { seed }
  },
})
