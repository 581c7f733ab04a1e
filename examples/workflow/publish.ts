import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parallel, step, workflow } from 'holdfast'

/** Leaves a trace of everything that is really done. */
function note(what: string): void {
  appendFileSync(process.env['DONE_FILE'] ?? 'done.txt', `${what}\n`)
}

export const publish = workflow({
  id: 'publish',
  steps: [
    step({ name: 'outline', run: (topic: string) => (note('outline'), topic) }),
    parallel({
      name: 'research',
      branches: [
        step({ name: 'pictures', run: (_topic: string) => (note('pictures'), 'a picture') }),
        step({
          name: 'facts',
          async run(topic: string) {
            note('facts begun')
            await sleep(800)
            note('facts')
            return `${topic}: 3 facts`
          },
        }),
      ],
    }),
    step({
      name: 'print',
      run: ({ facts, pictures }: { facts: string; pictures: string }) => (note('print'), `${facts}, ${pictures}`),
    }),
  ],
})
