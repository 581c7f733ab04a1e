import { agent } from 'holdfast'

export const counter = agent({
  id: 'counter',
  recovery: 'resume', // after a crash, continue where the log ends
  async *run(input, { step, sleep }) {
    const goal = await step('choose a goal', () => 50 + Math.floor(Math.random() * 50)) // done once per run
    for (let n = 1; n <= goal; n++) {
      yield `${input} ${n} of ${goal}\n`
      await sleep(100)
    }
  },
})
