/** Agents that would take the process down, if they were not isolated. */
import { writeFileSync } from 'node:fs'
import { agent } from '../../../src/agents/agent.ts'
import { fromCheck } from '../../../src/core/schema/json-schema.ts'
import type { RunContext } from '../../../src/core/ports/component.ts'

/** Shows that the thread is alive. */
function beat({ metadata: { heartbeat } }: RunContext, count: number): void {
  if (typeof heartbeat === 'string') writeFileSync(heartbeat, String(count))
}

const deeds: Readonly<Record<string, (context: RunContext) => unknown>> = {
  exit: () => process.exit(3),
  'exit 0': () => process.exit(0),
  loop: (context) => {
    for (let count = 0; ; count++) beat(context, count)
  },
  // Ten times what its thread may have; it ends there, so that a thread without a limit does not take the machine.
  leak: () => {
    const kept: string[][] = []
    while (kept.length < 1000) kept.push(Array.from({ length: 10_000 }, (_, n) => `${kept.length} ${n}`))
    return kept.length
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
  deaf: (context) =>
    new Promise(() => {
      let count = 0
      setInterval(() => beat(context, count++), 1)
    }),
  abort: ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
}

export const hostile = agent({
  id: 'hostile',
  input: fromCheck((input) => {
    if (typeof input !== 'string' || !(input in deeds)) throw new Error(`no deed ${JSON.stringify(input)}`)
    return input
  }, {}),
  async *run(input, context) {
    yield 'begun'
    await deeds[input]!(context)
    yield 'done'
  },
})
