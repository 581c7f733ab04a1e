/** An agent that never waits: records its progress in a file, and yields. */
import { appendFileSync } from 'node:fs'
import { agent } from '../../../src/agents/agent.ts'

export const writer = agent({
  id: 'writer',
  async *run(path: string) {
    for (;;) {
      appendFileSync(path, 'x')
      yield 'x'
    }
  },
})
