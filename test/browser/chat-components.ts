/** Components of the server for the pages of chat.test.ts. */
import { agent } from '../../src/agents/agent.ts'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { clerk } from '../protocols/agentos/components.ts'

/** Emits a text, retracts it, and emits another. */
const fickle = agent<unknown>({
  id: 'fickle',
  async *run(_input, { stage, sleep }) {
    yield 'kept '
    for (let attempt = 1; attempt <= 2; attempt++) {
      await stage('draft', async function* () {
        yield `draft ${attempt}`
        await sleep(300)
        if (attempt === 1) throw new Error('again')
      }).catch(() => {})
    }
  },
})

/** Waits in the middle until its process is killed, and emits the rest afterwards. */
const halting = agent<unknown>({
  id: 'halting',
  recovery: 'resume',
  async *run(_input, { attempt, sleep }) {
    for (let word = 0; word < 20; word++) yield `[${word}] `
    if (attempt === 1) await sleep(3_600_000)
    for (let word = 20; word < 60; word++) yield `[${word}] `
  },
})

export default [...labComponents(), clerk, fickle, halting]
