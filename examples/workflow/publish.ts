import { setTimeout as sleep } from 'node:timers/promises'
import { parallel, step, workflow } from 'holdfast'

/** Every step prints what it does, so that you see what a recovered run does again. */
export const publish = workflow({
  id: 'publish',
  steps: [
    step({ name: 'outline', run: (topic: string) => (console.log('outline'), topic) }),
    parallel({
      name: 'research',
      branches: [
        step({ name: 'pictures', run: (_topic: string) => (console.log('pictures'), 'a picture') }),
        step({
          name: 'facts',
          async run(topic: string) {
            await sleep(2000)
            console.log('facts')
            return `${topic}: 3 facts`
          },
        }),
      ],
    }),
    step({
      name: 'print',
      run: ({ facts, pictures }: { facts: string; pictures: string }) => (
        console.log('print'),
        `${facts}, ${pictures}`
      ),
    }),
  ],
})
