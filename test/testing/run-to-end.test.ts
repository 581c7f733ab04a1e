/** `runToEnd` of holdfast/testing: a component in a test, without a server. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { tool } from 'ai'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/agents/agent.ts'
import { modelAgent } from '../../src/agents/model/agent.ts'
import { scriptedModel } from '../../src/agents/model/scripted/scripted.ts'
import { team } from '../../src/agents/team/team.ts'
import { step, workflow } from '../../src/agents/workflow/index.ts'
import { runToEnd } from '../../src/testing/run-to-end.ts'

const clerk = modelAgent({
  id: 'clerk',
  // A test that used it would fail: nothing listens there.
  model: scriptedModel({
    script: () => {
      throw new Error('the real model')
    },
  }),
  tools: {
    refund: tool({
      inputSchema: z.object({ order: z.number() }),
      needsApproval: true,
      execute: ({ order }) => `refunded ${order}`,
    }),
  },
})

/** Calls the tool once, then emits its result. */
const refunds = scriptedModel({
  script: ({ results }) =>
    results.length === 0
      ? [{ type: 'tool', name: 'refund', input: { order: 7 } }]
      : `Done: ${JSON.stringify(results[0])}`,
})

describe('runToEnd', () => {
  test('gives the events, the output and the recorded tool calls of a run with fake answers and a scripted model', async () => {
    const run = await runToEnd(clerk, 'refund order 7', { model: refunds, answers: { approval: true } })
    expect(run.status).toBe('completed')
    expect(run.text).toMatch(/^Done: .*refunded 7/)
    expect(run.toolCalls).toEqual([{ name: 'refund', input: { order: 7 }, output: 'refunded 7' }])
    expect(run.questions).toMatchObject([{ kind: 'approval' }])
    expect(run.events[0]!.type).toBe('run.created')
    expect(run.events.at(-1)!.type).toBe('run.completed')
  })

  test('a denied approval has no tool output', async () => {
    const run = await runToEnd(clerk, 'refund order 7', { model: refunds, answers: () => false })
    expect(run.toolCalls).toMatchObject([{ name: 'refund', error: { code: 'forbidden' } }])
  })

  test('the model replaces those of members and of steps', async () => {
    const crew = team({
      id: 'crew',
      model: scriptedModel({ script: () => 'real' }),
      mode: 'broadcast',
      members: [clerk],
    })
    const flow = workflow({ id: 'flow', steps: [step({ name: 'crew', run: crew })] })
    const { output } = await runToEnd(flow, 'hi', { model: scriptedModel({ script: () => 'scripted' }) })
    expect(output).toBe('scripted')
  })

  test('types input and output by their schemas, and takes answers by question id or by a function', async () => {
    const asks = agent({
      id: 'asks',
      input: z.object({ n: z.number() }),
      output: z.object({ sum: z.number() }),
      async *run({ n }, { ask, within }) {
        const first = await ask({ prompt: 'First?', schema: z.number() })
        const second = await within('b').ask({ prompt: 'Second?', schema: z.number() })
        return { sum: n + first + second }
      },
    })
    const byKey = await runToEnd(asks, { n: 1 }, { answers: { question: 2, input: 3 } })
    expectTypeOf(byKey.output).toEqualTypeOf<{ sum: number } | undefined>()
    expect(byKey.output).toEqual({ sum: 6 })
    const byFunction = await runToEnd(asks, { n: 1 }, { answers: ({ prompt }) => (prompt === 'First?' ? 10 : 20) })
    expect(byFunction.output).toEqual({ sum: 31 })
  })

  test('an unanswered question, a refused input and a run that does not end reject', async () => {
    const asks = agent({ id: 'asks', input: z.string(), async *run(_, { ask }) { await ask('Go on?') } }) // prettier-ignore
    await expect(runToEnd(asks, 'x')).rejects.toThrow(
      'the run asks "Go on?", and `answers` has no answer: add one for "question"',
    )
    await expect(runToEnd(asks, 5 as never)).rejects.toThrow('the input does not match the schema of asks')
    const hangs = agent({ id: 'hangs', async *run() { await new Promise(() => {}) } }) // prettier-ignore
    await expect(runToEnd(hangs, 'x', { timeoutMs: 50, limits: { stopGraceMs: 10 } })).rejects.toThrow(
      'has not ended within 50 ms',
    )
  })

  test('a failed run is a result', async () => {
    const fails = agent({ id: 'fails', async *run() { throw new Error('boom') } }) // prettier-ignore
    expect(await runToEnd(fails, 'x')).toMatchObject({
      status: 'failed',
      error: { code: 'agent_failed', message: 'boom' },
    })
  })

  test('the import loads neither vitest nor fast-check', async () => {
    const program = `
      import { registerHooks } from 'node:module'
      const seen = []
      registerHooks({ resolve: (name, context, next) => (/^(vitest|fast-check|ai)$/.test(name) && seen.push(name), next(name, context)) })
      await import(${JSON.stringify(new URL('../../src/testing/index.ts', import.meta.url).href)})
      console.log(JSON.stringify(seen))`
    const argv = ['--no-warnings', '--input-type=module', '-e', program]
    expect((await promisify(execFile)(process.execPath, argv)).stdout.trim()).toBe('[]')
  })
})
