/** Code that no longer matches the log of its run: who decides, and the effect of each decision. */
import { describe, expect, test } from 'vitest'
import { aborted, subject, textOf, type TestNode, typesOf } from '../../../test/support/node.ts'
import { settle } from '../../../test/support/manual-clock.ts'
import { World } from '../../../test/support/world.ts'
import type { Component, RunContext } from '../ports/component.ts'

const limits = { replayWaitMs: 100 }

class Bank {
  readonly effects: string[] = []

  component(amount: number, more: Partial<Component> = {}): Component {
    return this.agent((context) => this.pay(context, amount), more)
  }

  /** Does the work, emits its result, and hangs in the first attempt. */
  agent(work: (context: RunContext) => Promise<unknown>, more: Partial<Component> = {}): Component {
    return subject(
      async function* (_, context) {
        yield `[${String(await work(context))}]`
        if (context.attempt === 1) await aborted(context.signal)
        return 'done'
      },
      { recovery: 'resume', limits, ...more },
    )
  }

  pay(context: RunContext, amount: number): Promise<string> {
    return context.tool({ name: 'pay', input: amount }, () => {
      this.effects.push(`pay ${amount}`)
      return `paid ${amount}`
    })
  }
}

/** A run that paid 5 before its code changed, and now asks how to proceed. */
async function diverged(bank: Bank, after: Component, before = bank.component(5)) {
  const world = new World(before)
  const id = await world.orphan(1)
  const node = world.worker([after])
  const question = await divergence(node, id)
  return { world, id, node, question }
}

async function divergence(node: TestNode, id: string) {
  const { run } = await node.reached(id, (status) => status !== 'running')
  expect(run).toMatchObject({ status: 'paused', waiting: [{ kind: 'diverged' }] })
  return run.waiting![0]!
}

describe('[RUN-5] a diverged run, whose code no longer matches its log,', () => {
  test('pauses, and reports what the log has and what the code requested', async () => {
    const bank = new Bank()
    const { id, node, question } = await diverged(bank, bank.component(500))
    expect(question).toEqual({
      id: 'diverged',
      kind: 'diverged',
      prompt:
        'component subject no longer matches the log of this run: the code requested tool pay, which the log does not have, ' +
        'without requesting tool pay of event 2 again. Retry (after you fixed the code), continue (execute the new work), ' +
        'or fail the run?',
      schema: expect.any(Object) as object,
      details: {
        index: 2,
        recorded: { kind: 'tool', name: 'pay', key: 'pay' },
        asked: { kind: 'tool', name: 'pay' },
        choices: ['retry', 'continue', 'fail'],
      },
    })
    expect(bank.effects).toEqual(['pay 5'])
    expect((await node.log(id)).at(-1)!.type).toBe('run.paused')
  })

  test.each([['retry'], [{ action: 'retry' }]])('resumes with the old code: %j', async (answer) => {
    const bank = new Bank()
    const { world, id, question } = await diverged(bank, bank.component(500))
    const restored = world.worker([bank.component(5)])
    await restored.answer(id, { [question.id]: answer })
    const log = await restored.endedUnasked(id)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(textOf(log)).toBe('[paid 5]')
    expect(bank.effects).toEqual(['pay 5'])
  })

  test('starts nothing new before it is answered, although the code asks for the missing work', async () => {
    const bank = new Bank()
    const late = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    const after = bank.agent(async (context) => {
      const inTime = bank.pay(context, 500)
      await late.promise
      const paid = await bank.pay(context, 5)
      const next = bank.pay(context, 7)
      reached.resolve()
      return [await inTime, paid, await next]
    })
    const { id, node, question } = await diverged(bank, after)
    late.resolve()
    await reached.promise
    await settle()
    expect(bank.effects).toEqual(['pay 5'])
    await node.answer(id, { [question.id]: 'continue' })
    expect(textOf(await node.endedUnasked(id))).toBe('[paid 500,paid 5,paid 7]')
    expect(bank.effects.toSorted()).toEqual(['pay 5', 'pay 500', 'pay 7'])
  })

  test('asks again under another id when it is retried with the same code', async () => {
    const bank = new Bank()
    const { id, node, question } = await diverged(bank, bank.component(500))
    await node.answer(id, { [question.id]: 'retry' })
    const again = await divergence(node, id)
    expect(again.id).toBe('diverged#2')
    await expect(node.answer(id, { [question.id]: 'continue' })).rejects.toMatchObject({ code: 'conflict' })
    expect(bank.effects).toEqual(['pay 5'])
  })

  test.each([['in this process'], ['in another process']])(
    'executes the new work when answered with continue, %s',
    async (where) => {
      const bank = new Bank()
      const { world, id, node, question } = await diverged(bank, bank.component(500))
      const last = where === 'in this process' ? node : world.worker([bank.component(500)])
      await last.answer(id, { [question.id]: 'continue' })
      const log = await last.endedUnasked(id)
      expect(log.at(-1)!.type).toBe('run.completed')
      expect(textOf(log)).toBe('[paid 500]')
      expect(bank.effects).toEqual(['pay 5', 'pay 500'])
    },
  )

  test('executes continued work once, although it is interrupted after that', async () => {
    const bank = new Bank()
    const after = bank.agent(async (context) => {
      const paid = await bank.pay(context, 500)
      if (context.attempt === 2) await aborted(context.signal)
      return paid
    })
    const { world, id, node, question } = await diverged(bank, after)
    await node.answer(id, { [question.id]: 'continue' })
    await node.emitted(id, 'tool.completed', 2)
    world.kill()
    const log = await world.worker([after]).endedUnasked(id)
    expect(textOf(log)).toBe('[paid 500]')
    expect(bank.effects).toEqual(['pay 5', 'pay 500'])
  })

  test.each([['in this process'], ['in another process']])('fails when answered with fail, %s', async (where) => {
    const bank = new Bank()
    const { world, id, node, question } = await diverged(bank, bank.component(500))
    const last = where === 'in this process' ? node : world.worker([bank.component(500)])
    await last.answer(id, { [question.id]: { action: 'fail' } })
    expect((await last.endedUnasked(id)).at(-1)).toMatchObject({
      type: 'run.failed',
      data: { error: { code: 'diverged' } },
    })
    expect(bank.effects).toEqual(['pay 5'])
  })

  test('keeps waiting when the answer is invalid', async () => {
    const bank = new Bank()
    const { id, node, question } = await diverged(bank, bank.component(500))
    await expect(node.answer(id, { [question.id]: 'what?' })).rejects.toMatchObject({ code: 'invalid_request' })
    expect((await divergence(node, id)).id).toBe(question.id)
  })

  test('fails at once if its component is configured so', async () => {
    const bank = new Bank()
    const world = new World(bank.component(5))
    const id = await world.orphan(1)
    const node = world.worker([bank.component(500, { onDivergence: 'fail' })])
    const log = await node.endedUnasked(id)
    const details = { index: 2, recorded: { key: 'pay' }, asked: { kind: 'tool', name: 'pay' } }
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'diverged', details } } })
    expect(bank.effects).toEqual(['pay 5'])
  })

  test.each<[string, (context: RunContext) => Promise<unknown>, string]>([
    ['ends', async () => 'nothing', 'the agent ended'],
    ['throws', () => Promise.reject(new TypeError('a defect')), 'the agent failed (a defect) and ended'],
  ])('is detected when the code %s without requesting what the log has', async (_, work, expectedText) => {
    const bank = new Bank()
    const { id, node, question } = await diverged(bank, bank.agent(work))
    expect(question.prompt).toContain(`${expectedText} without requesting tool pay of event 2 again`)
    expect(typesOf(await node.log(id))).not.toContain('run.failed')
  })

  test('can be stopped like any other', async () => {
    const bank = new Bank()
    const { id, node } = await diverged(bank, bank.component(500))
    await node.stop(id)
    expect((await node.ended(id)).at(-1)!.type).toBe('run.cancelled')
  })
})
