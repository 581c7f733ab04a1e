/** Components of the server for the pages of chat.test.ts. */
import { agent } from '../../src/agents/agent.ts'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { clerk } from '../protocols/agentos/components.ts'

/** Says something, takes it back, and says something else. */
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

/** Stops in the middle until its process is killed, and says the rest after that. */
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
