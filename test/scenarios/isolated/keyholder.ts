/** An agent that emits a key in two pieces; `refused` has its own redaction rules, which cannot leave the thread. */
import { agent } from '../../../src/agents/agent.ts'

export const keyholder = agent<unknown>({
  id: 'keyholder',
  async *run(input) {
    yield 'the key is sk-abcdEFGH12'
    yield '34ijklMNOP5678 for badge B1234'
    return input
  },
})

export const refused = { ...keyholder, redact: { patterns: [{ name: 'badge', pattern: /B\d{4}/ }] } }
