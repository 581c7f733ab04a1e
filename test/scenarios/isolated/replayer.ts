/** Shows whether it repeats output that its log already has: before and after it. */
import { agent } from '../../../src/agents/agent.ts'

export const replayer = agent<unknown>({
  id: 'replayer',
  recovery: 'resume',
  async *run(_input, context) {
    const before = context.replaying
    yield 'Well. '
    await context.ask({ prompt: 'Go on?' })
    return { before, after: context.replaying }
  },
})
