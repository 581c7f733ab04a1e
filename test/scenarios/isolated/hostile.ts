/** Agents that would take the process down, if they were not isolated. */
import { agent } from '../../../src/agents/generator.ts'
import type { RunContext } from '../../../src/core/ports/component.ts'

const deeds: Readonly<Record<string, (context: RunContext) => unknown>> = {
  exit: () => process.exit(3),
  'exit 0': () => process.exit(0),
  loop: () => {
    for (;;);
  },
  leak: () => {
    const kept: string[][] = []
    for (;;) kept.push(Array.from({ length: 10_000 }, (_, n) => `${kept.length} ${n}`))
  },
  timer: () =>
    new Promise(() => {
      setTimeout(() => {
        throw new Error('boom in timer')
      }, 5)
    }),
  rejection: () => {
    void Promise.reject(new TypeError('boom in rejection'))
    return new Promise(() => {})
  },
  function: ({ step }) => step('bad', () => ({ f: () => {} })),
  throw: () => {
    throw Object.assign(new RangeError('boom thrown'), { code: 'E_BOOM', data: { n: 1 } })
  },
  reject: ({ reject }) => reject('not today'),
  flood: async ({ step }) => {
    const work = Array.from({ length: 10_000 }, async (_, n) => step(`s${n}`, () => new Promise(() => {})))
    await Promise.all(work)
  },
  deaf: () => new Promise(() => {}),
  abort: ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
}

export const hostile = agent({
  id: 'hostile',
  parse(input) {
    if (typeof input !== 'string' || !(input in deeds)) throw new Error(`no deed ${JSON.stringify(input)}`)
    return input
  },
  async *run(input: string, context) {
    yield 'begun'
    await deeds[input]!(context)
    yield 'done'
  },
})
