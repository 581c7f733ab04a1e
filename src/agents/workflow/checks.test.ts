/** Errors in a workflow definition are reported when it is defined. */
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { Component } from '../../core/ports/component.ts'
import { agent } from '../agent.ts'
import { condition, loop, parallel, router, step, steps, workflow, type WorkflowStep } from './index.ts'

const a = step({ name: 'a', run: (input: string) => input.length })
const b = step({ name: 'b', run: (input: number) => input > 1 })
const echo = agent({ id: 'echo', async *run() {} })

describe('workflow: a definition is rejected', () => {
  test.each<[string, () => unknown, string]>([
    ['without a name', () => step({ name: '', run: () => 1 }), 'a step needs a name of 1 to 128 characters'],
    ['with a separator in a name', () => step({ name: 'a/b', run: () => 1 }), '"a/b" has one of / # ~ %'],
    ['without an executor', () => step({ name: 'a' } as never), 'step "a" needs a function or a component'],
    [
      'with an executor of no known kind',
      () => step({ name: 'a', run: { id: 'x', run() {} } as never }),
      'step "a" needs',
    ],
    [
      'with less than no retry',
      () => step({ name: 'a', run: () => 1, retries: -1 }),
      'retries of step "a" must be a whole number from 0 to',
    ],
    ['with no time', () => step({ name: 'a', run: () => 1, timeoutMs: 0 }), 'timeoutMs of step "a" must be'],
    ['with too long a time', () => step({ name: 'a', run: () => 1, timeoutMs: 2 ** 31 }), 'from 1 to 2147483647'],
    ['with no wait', () => step({ name: 'a', run: () => 1, retries: 1, retryDelayMs: -1 }), 'retryDelayMs of'],
    [
      'with an unknown remedy',
      () => step({ name: 'a', run: () => 1, onError: 'ignore' as never }),
      'fail, skip or ask',
    ],
    [
      'with nothing to ask',
      () => step({ name: 'a', run: () => 1, confirm: true as never }),
      'confirm of step "a" needs',
    ],
    ['with no branch', () => parallel({ name: 'p', branches: [] }), 'parallel "p" needs at least one entry'],
    [
      'with too many at once',
      () => parallel({ name: 'p', branches: [a], maxConcurrentBranches: 65 }),
      'from 1 to 64, not 65',
    ],
    [
      'with a name twice',
      () => parallel({ name: 'p', branches: [a, a] }),
      'parallel "p" has two steps with the name "a"',
    ],
    ['with no end', () => loop({ name: 'l', body: a } as never), 'until or while of loop "l" must be a function'],
    [
      'with too long a loop',
      () => loop({ name: 'l', body: a, until: () => true, maxIterations: 1001 }),
      'from 1 to 1000',
    ],
    ['with no body', () => loop({ name: 'l', until: () => true } as never), 'loop "l": body is neither a step nor'],
    ['with no test', () => condition({ name: 'c', do: a } as never), 'when of condition "c" must be a function'],
    ['with no choice', () => router({ name: 'r', choices: [], choose: 'ask' }), 'router "r" needs at least one entry'],
    ['with nobody to choose', () => router({ name: 'r', choices: [a] } as never), 'choose of router "r" must be'],
    ['with no step', () => workflow({ id: 'w', steps: [] }), 'workflow w needs at least one entry in its steps'],
    ['with what is not a step', () => workflow({ id: 'w', steps: [a, 5 as never] }), 'steps[1] is neither a step nor'],
    [
      'with too many steps',
      () => workflow({ id: 'w', steps: Array.from({ length: 501 }, (_, at) => step({ name: `${at}`, run: () => 1 })) }),
      'workflow w has 501 steps; the maximum is 500',
    ],
    ['with blocks too deep', () => workflow({ id: 'w', steps: [deep(17)] }), 'blocks 17 deep; the maximum is 16'],
  ])('a definition %s is rejected', (_, define, message) => {
    expect(define).toThrow(message)
  })
})

function deep(levels: number): WorkflowStep<string> {
  return levels === 1 ? a : steps('s', [deep(levels - 1)])
}

test('workflow: its structure and recovery policy can be read', () => {
  const flow = workflow({ id: 'w', name: 'W', description: 'Counts.', steps: [echo, steps('more', [a, b])] })
  expect(flow).toMatchObject({ id: 'w', kind: 'workflow', name: 'W', description: 'Counts.', recovery: 'resume' })
  expect(flow.steps).toMatchObject([
    { type: 'step', kind: 'agent', name: 'echo' },
    { type: 'sequence', name: 'more', steps: [{ kind: 'function', name: 'a' }, { name: 'b' }] },
  ])
  expect(workflow({ id: 'w', steps: [a], recovery: 'fail' }).recovery).toBe('fail')
})

describe('workflow: types', () => {
  test('are inferred from step to step', () => {
    expectTypeOf(workflow({ id: 'w', steps: [a, b] })).toExtend<Component<string>>()
    expectTypeOf(steps('s', [a, b])).toExtend<WorkflowStep<string, boolean, 's'>>()
    const shout = step({ name: 'shout', run: (text: string) => `${text}!` })
    // @ts-expect-error a number is not text
    steps('s', [a, shout])
    const second = step({ name: 'second', run: (input: { text: string }) => input })
    // @ts-expect-error a number has no text
    workflow({ id: 'w', steps: [a, second] })
    // What a component gives is not known.
    workflow({ id: 'w', steps: [echo, b] })
  })

  test('are inferred into and out of blocks', () => {
    const block = parallel({ name: 'p', branches: [a, step({ name: 'c', run: async (text: string) => text })] })
    expectTypeOf(block).toExtend<WorkflowStep<string, { readonly a: number; readonly c: string }, 'p'>>()
    const either = condition({
      name: 'c',
      when: (input) => input > 1,
      do: b,
      else: step({ name: 'd', run: (n: number) => n }),
    })
    expectTypeOf(either).toExtend<WorkflowStep<number, boolean | number, 'c'>>()
    const again = loop({ name: 'l', body: a, until: (output) => output > 3 })
    expectTypeOf(again).toExtend<WorkflowStep<string, number, 'l'>>()
    // @ts-expect-error there is no such way
    router({ name: 'r', choices: [a], choose: () => 'z' })
    const talk = step({
      name: 'talk',
      async *run(input: string) {
        yield 'a'
        return input.length
      },
    })
    expectTypeOf(talk).toExtend<WorkflowStep<string, number, 'talk'>>()
  })
})
