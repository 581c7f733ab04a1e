import { agent, holdfast } from 'holdfast'

export const counter = agent({
  id: 'counter',
  recovery: 'resume',
  async *run(input, { step, sleep }) {
    const goal = await step('choose a goal', () => 50 + Math.floor(Math.random() * 50))
    for (let n = 1; n <= goal; n++) {
      yield `${input} ${n} of ${goal}\n`
      await sleep(100)
    }
  },
})

export const hf = holdfast({
  components: [counter],
  store: `sqlite:${process.env.DATABASE ?? '.holdfast/holdfast.db'}`,
  basePath: '/api/agents',
})
