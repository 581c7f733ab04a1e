/** An agent that blocks the thread of the server. */
import { agent } from '../../../src/agents/agent.ts'

export const blocker = agent({
  id: 'blocker',
  async *run(milliseconds: number | string) {
    yield 'begun'
    await new Promise((resolve) => setTimeout(resolve, 10))
    spin(Number(milliseconds))
    yield 'done'
  },
})

function spin(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}
