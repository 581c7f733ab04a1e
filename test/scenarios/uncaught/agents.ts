/** Agents whose code throws where no run awaits it. */
import { EventEmitter } from 'node:events'
import { agent } from '../../../src/agents/agent.ts'
import type { RunContext } from '../../../src/core/ports/component.ts'

const boom = (kind: string): never => {
  throw new Error(`boom in ${kind}`)
}

/** Each leaves an error uncaught some milliseconds after it was called. */
const blunders: Readonly<Record<string, (context: RunContext) => void>> = {
  timer: () => void setTimeout(() => boom('timer'), 5),
  'async timer': () => void setTimeout(() => void (async () => boom('async timer'))(), 5),
  tick: () => void setTimeout(() => process.nextTick(() => boom('tick')), 5),
  emitter: () => void setTimeout(() => new EventEmitter().emit('error', new Error('boom in emitter')), 5),
  'detached promise': () => void (async () => boom('detached promise'))(),
  'no error': () => void setTimeout(() => void Promise.reject('boom in no error'), 5),
  'detached step': ({ step }) => void step('work', () => void setTimeout(() => boom('detached step'), 5)),
  'abort listener': ({ signal }) => signal.addEventListener('abort', () => boom('abort listener')),
}

export const kinds: readonly string[] = Object.keys(blunders)

export const blunderer = agent({
  id: 'blunderer',
  async *run(input: string, context) {
    blunders[input]?.(context)
    yield 'begun'
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
  },
})

export const counter = agent({
  id: 'counter',
  async *run(goal: number | string, { sleep }) {
    for (let n = 1; n <= Number(goal); n++) {
      yield `${n} `
      await sleep(5)
    }
  },
})

const poked = Promise.withResolvers<void>()
let isPoked = false

/** Throws while it waits for an answer, when the other agent triggers it. */
export const asker = agent({
  id: 'asker',
  async *run(_input: unknown, { ask }) {
    if (!isPoked) void poked.promise.then(() => boom('paused agent'))
    yield `answered ${String(await ask('How many?'))}`
  },
})

export const poker = agent({
  id: 'poker',
  async *run() {
    isPoked = true
    poked.resolve()
    yield 'done'
  },
})

/** Work that a timer of the module does, so that no run is responsible for it. */
const jobs: (() => void)[] = []
setInterval(() => jobs.shift()?.(), 5).unref()

export const outsider = agent({
  id: 'outsider',
  async *run(kind: string) {
    jobs.push(kind === 'rejection' ? () => void Promise.reject(new Error('boom outside')) : () => boom('module'))
    yield 'done'
  },
})
