/** An agent that shows whether it is replaying, before and after output that its log already has. */
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
