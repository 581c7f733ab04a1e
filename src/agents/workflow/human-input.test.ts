/** Steps that wait for a person: confirmations, questions, choices and reviews, also after a crash. */
import { describe, expect, test } from 'vitest'
import { failureOf, resultOf, startOf, storyOf } from '../../../test/support/workflow-helpers.ts'
import { openNode, type TestNode } from '../../../test/support/node.ts'
import { World } from '../../../test/support/world.ts'
import type { Component } from '../../core/ports/component.ts'
import type { LoggedEvent, Question } from '../../core/model/event.ts'
import { agent } from '../agent.ts'
import { parallel, router, step, workflow } from './index.ts'

/** Answers each pause, with one answer or with one by question id, and returns the log. */
async function answered(
  component: Component,
  answers: readonly unknown[],
  input: unknown = 'a',
): Promise<LoggedEvent[]> {
  const node = openNode({ components: [component] })
  const id = await node.start(component.id, input)
  for (const answer of answers) await answerTo(node, id, answer)
  return node.ended(id)
}

async function answerTo(node: TestNode, id: string, answer: unknown): Promise<Question> {
  const { run } = await node.reached(id, 'paused')
  const [question] = run.waiting!
  await node.answer(id, { [question!.id]: answer })
  return question!
}

/** A worker asks and dies; another one gets the answer. */
async function answeredByAnother(component: Component, answer: unknown, input: unknown = 'a'): Promise<LoggedEvent[]> {
  const world = new World(component)
  const first = world.worker()
  const id = await first.start(component.id, input)
  await first.reached(id, 'paused')
  world.kill()
  const second = world.worker()
  await answerTo(second, id, answer)
  return second.ended(id)
}

const upper = step({ name: 'upper', run: (input: string) => input.toUpperCase() })
const exclaim = step({ name: 'exclaim', run: (input: string) => `${input}!` })

/** Text in capitals, published after a confirmation. */
function publishing(onReject?: 'skip' | 'fail'): Component {
  const confirm = onReject === undefined ? 'Publish?' : { prompt: 'Publish?', onReject }
  return workflow({ id: 'w', steps: [upper, step({ name: 'publish', confirm, run: (text: string) => `<${text}>` })] })
}

function asking<const Name extends string>(name: Name) {
  return step({ name, confirm: `${name}?`, run: () => name })
}

describe('workflow: a step that needs confirmation', () => {
  test('asks before it is executed', async () => {
    const node = openNode({ components: [publishing()] })
    const id = await node.start('w', 'a')
    const question = await answerTo(node, id, true)
    expect(question).toMatchObject({
      id: 'publish~/question',
      kind: 'approval',
      prompt: 'Publish?',
      details: { step: 'publish', name: 'publish', kind: 'function', index: 1, input: 'A' },
    })
    const log = await node.ended(id)
    expect(resultOf(log)).toBe('<A>')
    expect(storyOf(log).slice(1, 4)).toEqual(['step.completed upper', 'run.paused', 'step.started publish'])
  })

  test('is skipped with the reason when rejected', async () => {
    const log = await answered(publishing(), [{ approved: false, reason: 'too early' }])
    expect(resultOf(log)).toBe('A')
    expect(log.find(({ type }) => type === 'step.skipped')).toMatchObject({
      data: { step: 'publish', reason: 'too early' },
    })
    expect(startOf(log, 'publish')).toBeUndefined()
  })

  test('fails the workflow when rejected, if configured', async () => {
    const log = await answered(publishing('fail'), [false])
    expect(failureOf(log)).toMatchObject({ code: 'rejected', message: 'step publish was not confirmed' })
  })

  test('[RUN-1] can be confirmed on another worker', async () => {
    expect(resultOf(await answeredByAnother(publishing(), { approved: true }))).toBe('<A>')
  })

  test.each(['maybe', 'yes', null, 1, { approved: 'yes' }])('rejects %j, and stays paused', async (answer) => {
    const node = openNode({ components: [publishing()] })
    const id = await node.start('w', 'a')
    const refusal = { code: 'invalid_request', message: expect.stringContaining('must be true or false') as string }
    await expect(answerTo(node, id, answer)).rejects.toMatchObject(refusal)
    await answerTo(node, id, true)
    expect(resultOf(await node.ended(id))).toBe('<A>')
  })

  test('fails when no answer arrives in time', async () => {
    const confirm = { prompt: 'Quick?', timeoutMs: 30 }
    const node = openNode({
      components: [workflow({ id: 'w', steps: [step({ name: 's', confirm, run: () => 1 })] })],
    })
    const log = await node.ended(await node.start('w'))
    expect(failureOf(log)).toMatchObject({
      code: 'deadline_exceeded',
      message: 'the question was not answered in time: Quick?',
    })
  })

  test('asks beside another branch that asks', async () => {
    const flow = workflow({ id: 'w', steps: [parallel({ name: 'p', branches: [asking('a'), asking('b')] })] })
    const node = openNode({ components: [flow] })
    const id = await node.start('w')
    const { run } = await node.reached(id, 'paused')
    expect(run.waiting!.map((question) => question.id)).toEqual(['p~/a~/question', 'p~/b~/question'])
    await node.answer(id, { 'p~/a~/question': true, 'p~/b~/question': false })
    expect(resultOf(await node.ended(id))).toEqual({ a: 'a' })
  })
})

describe('workflow: a step with a question', () => {
  const schema = { type: 'string' }

  test('gets the answer beside its input', async () => {
    const greet = step({
      name: 's',
      question: { prompt: 'Who?', schema },
      run: (hi: string, { answer }) => `${hi} ${String(answer)}`,
    })
    const flow = workflow({ id: 'w', steps: [greet] })
    expect(resultOf(await answered(flow as Component, ['you']))).toBe('a you')
    expect(resultOf(await answeredByAnother(flow as Component, 'them'))).toBe('a them')
  })

  test('workflow: a step with a question gives its agent the input and the answer', async () => {
    const echo = agent<unknown>({
      id: 'echo',
      async *run(input) {
        yield 'heard'
        return input
      },
    })
    const flow = workflow({ id: 'w', steps: [step({ name: 's', question: 'Who?', run: echo })] })
    expect(resultOf(await answered(flow, ['you']))).toBe('a\n\nyou')
    expect(resultOf(await answered(flow, [{ name: 'you' }], 'hi'))).toBe('hi\n\n{"name":"you"}')
    expect(resultOf(await answered(flow, ['you'], { x: 1 }))).toEqual({ input: { x: 1 }, answer: 'you' })
  })

  test('can also be asked by its function', async () => {
    const counts: number[] = []
    const asks = step({
      name: 's',
      async run(input: string, context) {
        await context.tool({ name: 'count', input: null, idempotent: true }, () => counts.push(1))
        return `${input}${String(await context.ask('More?'))}`
      },
    })
    const flow = workflow({ id: 'w', steps: [asks] })
    expect(resultOf(await answeredByAnother(flow as Component, 'b'))).toBe('ab')
    expect(counts).toEqual([1])
  })
})

function routing(multiple: boolean): Component {
  const route = router({ name: 'route', choices: [upper, exclaim], choose: 'ask', multiple })
  return workflow({ id: 'w', steps: [route] })
}

describe('workflow: a router that asks', () => {
  test('takes the answered branch', async () => {
    const node = openNode({ components: [routing(false)] })
    const id = await node.start('w', 'a')
    expect(await answerTo(node, id, 'exclaim')).toMatchObject({
      id: 'route~/question',
      kind: 'choice',
      prompt: 'route: which way?',
      schema: { enum: ['upper', 'exclaim'] },
      details: { step: 'route', kind: 'router', index: 0, choices: ['upper', 'exclaim'], multiple: false, input: 'a' },
    })
    const log = await node.ended(id)
    expect(resultOf(log)).toBe('a!')
    expect(startOf(log, 'route')).toMatchObject({ details: { selected: ['exclaim'] } })
  })

  test('accepts several branches', async () => {
    expect(resultOf(await answered(routing(true), [['exclaim', 'upper']]))).toBe('A!')
  })

  test.each(['nowhere', [['upper', 'exclaim']]])('rejects an unknown branch: %j', async (answer) => {
    const refusal = { code: 'invalid_request', message: expect.stringContaining('"upper" or "exclaim"') as string }
    await expect(answered(routing(false), [answer])).rejects.toMatchObject(refusal)
  })

  test('[RUN-1] can be answered on another worker', async () => {
    expect(resultOf(await answeredByAnother(routing(false), 'upper'))).toBe('A')
  })
})

/** A draft that a person reviews; `seen` gets the feedback of each round. */
function drafting(seen: unknown[] = [], rounds?: number): Component {
  const draft = step({
    name: 'draft',
    review: { prompt: 'Good?', ...(rounds !== undefined && { rounds }) },
    run: (input: string, { feedback }) => {
      seen.push(feedback)
      return `${input}${seen.length}`
    },
  })
  return workflow({ id: 'w', steps: [draft, exclaim] })
}

describe('workflow: a step whose output is reviewed', () => {
  test('continues when it is accepted', async () => {
    const node = openNode({ components: [drafting()] })
    const id = await node.start('w', 'a')
    expect(await answerTo(node, id, { action: 'accept' })).toMatchObject({
      kind: 'review',
      prompt: 'Good?',
      details: { step: 'draft', output: 'a1', round: 1, rounds: 3 },
    })
    expect(resultOf(await node.ended(id))).toBe('a1!')
  })

  test('continues with the edited output', async () => {
    const seen: unknown[] = []
    expect(resultOf(await answered(drafting(seen), [{ action: 'edit', output: 'better' }]))).toBe('better!')
    expect(seen).toEqual([undefined])
  })

  test('is repeated with the feedback when it is rejected', async () => {
    const seen: unknown[] = []
    const log = await answered(drafting(seen), [{ action: 'reject', feedback: 'longer' }, 'reject', 'accept'])
    expect(resultOf(log)).toBe('a3!')
    expect(seen).toEqual([undefined, 'longer', 'It was not accepted.'])
    expect(startOf(log, 'draft#2')).toMatchObject({ details: { index: 0, round: 2 } })
  })

  test('fails when it is rejected too often', async () => {
    const log = await answered(drafting([], 2), ['reject', { action: 'reject', feedback: 'still bad' }])
    expect(failureOf(log)).toMatchObject({ code: 'rejected', message: /rejected 2 times; last feedback: still bad/ })
  })

  test('[RUN-1] can be reviewed on another worker, without being repeated', async () => {
    const seen: unknown[] = []
    expect(resultOf(await answeredByAnother(drafting(seen), 'accept'))).toBe('a1!')
    expect(seen).toEqual([undefined])
  })

  test('[RUN-1] can be rejected on another worker', async () => {
    const seen: unknown[] = []
    const component = drafting(seen)
    const world = new World(component)
    const first = world.worker()
    const id = await first.start('w', 'a')
    await first.reached(id, 'paused')
    world.kill()
    const second = world.worker()
    await answerTo(second, id, { action: 'reject', feedback: 'longer' })
    await second.reached(id, 'paused')
    world.kill()
    const third = world.worker()
    await answerTo(third, id, 'accept')
    expect(resultOf(await third.ended(id))).toBe('a2!')
    expect(seen).toEqual([undefined, 'longer'])
  })
})
