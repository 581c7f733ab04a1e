/** A module for `holdfast serve`: a run that counts until its attempt has the given number. */
import { agent } from '../../src/agents/agent.ts'

export const longRun = agent<number>({
  id: 'long',
  recovery: 'resume',
  limits: { maxAttempts: 1000 },
  async *run(lives, context) {
    for (let number = 0; ; number++) {
      if (context.attempt >= lives && !context.replaying) return number
      yield `[${number}] `
      await context.sleep(10)
    }
  },
})
