/** A module for `holdfast serve`: agents that throw values which are hard to inspect. */
import { agent } from '../../../src/agents/agent.ts'

export const thrown: Readonly<Record<string, () => unknown>> = {
  null: () => null,
  undefined: () => undefined,
  'an object without a prototype': () => Object.create(null),
  'an object that refuses to be text': () => ({ toString: refuse }),
  'an error whose message throws': () => Object.defineProperty(new Error('hidden'), 'message', { get: refuse }),
  'an error whose name throws': () => Object.defineProperty(new Error('hidden'), 'name', { get: refuse }),
  'an error whose stack throws': () => Object.defineProperty(new Error('hidden'), 'stack', { get: refuse }),
  'an error with a detail that throws': () =>
    Object.defineProperty(new Error('hidden'), 'response', { get: refuse, enumerable: true }),
  'a message that is no text': () => Object.assign(new Error('hidden'), { message: { not: 'text' } }),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
  'an error that contains itself': () => {
    const error = new Error('round')
    error.cause = error
    return error
  },
  'half a surrogate pair': () => new Error('\ud83c'),
  'a message of eight million characters': () => new Error('endless '.repeat(1_000_000)),
}

export const thrower = agent({
  id: 'thrower',
  async *run(kind: string) {
    yield 'before'
    throw thrown[kind]!()
  },
})

/** The same from inside a step, where the failure is recorded first. */
export const stepper = agent({
  id: 'stepper',
  async *run(kind: string, context) {
    yield 'before'
    await context.step('work', () => {
      throw thrown[kind]!()
    })
  },
})

export const bystander = agent({
  id: 'bystander',
  async *run() {
    for (let number = 0; number < 200; number++) {
      yield `[${number}] `
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  },
})

function refuse(): never {
  throw new Error('no')
}
