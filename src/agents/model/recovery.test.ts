/** Recovery and stop of model agents: recorded model responses and tool results are reused. */
import { tool } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { aborted, openNode, textOf, typesOf } from '../../../test/support/node.ts'
import { World } from '../../../test/support/world.ts'
import type { EventType, LoggedEvent } from '../../core/model/event.ts'
import { modelAgent, type ModelAgentDefinition } from './agent.ts'
import type { ScriptedCall } from './scripted/scripted-call.ts'
import { type ScriptedOutput, type ScriptedPart, scriptedModel } from './scripted/scripted.ts'
import { idempotent, type ToolContext } from './tools/tools.ts'

type Script = (call: ScriptedCall) => ScriptedOutput | Promise<ScriptedOutput>

function agentOf(script: Script, more: Partial<ModelAgentDefinition> = {}): ReturnType<typeof modelAgent> {
  return modelAgent({ id: 'subject', model: scriptedModel({ script }), ...more })
}

/** Kills the worker after `count` events of a type; another worker finishes the run. */
async function crashed(component: ReturnType<typeof modelAgent>, type: EventType, count = 1): Promise<LoggedEvent[]> {
  const world = new World(component)
  const first = world.worker()
  const id = await first.start('subject', 'hello')
  await first.emitted(id, type, count)
  world.kill()
  return world.worker().ended(id)
}

/** Hangs once, until it is aborted. */
function hangOnce(): (signal: AbortSignal | undefined) => Promise<void> {
  let hung = false
  return async (signal) => {
    if (hung) return
    hung = true
    await aborted(signal!)
  }
}

describe('[RUN-1] model agent: recovery', () => {
  test('a crash before the first token calls the model again', async () => {
    const hang = hangOnce()
    const log = await crashed(
      agentOf(async ({ signal }) => {
        await hang(signal)
        return 'hello back'
      }),
      'model.requested',
    )
    expect(textOf(log)).toBe('hello back')
    expect(typesOf(log).filter((type) => type === 'model.requested')).toHaveLength(1)
  })

  test('a crash within the text: the same output continues at the word where it was cut', async () => {
    const hang = hangOnce()
    async function* answer(signal: AbortSignal | undefined): AsyncGenerator<ScriptedPart> {
      yield 'one two '
      await hang(signal)
      yield 'three'
    }
    const log = await crashed(
      agentOf(({ signal }) => answer(signal)),
      'text.delta',
      2,
    )
    expect(textOf(log)).toBe('one two three')
    expect(typesOf(log)).not.toContain('attempt.discarded')
    expect(log.at(-1)!.data).toMatchObject({ output: 'one two three', usage: { outputTokens: 3 } })
  })

  test('a crash within the text: different output retracts the earlier text', async () => {
    const hang = hangOnce()
    let round = 0
    async function* answer(signal: AbortSignal | undefined): AsyncGenerator<ScriptedPart> {
      yield `round ${++round} `
      await hang(signal)
      yield 'over'
    }
    const log = await crashed(
      agentOf(({ signal }) => answer(signal)),
      'text.delta',
      2,
    )
    expect(textOf(log)).toBe('round 2 over')
    expect(typesOf(log).filter((type) => type === 'attempt.discarded')).toHaveLength(1)
  })

  test('a crash between turns repeats neither finished tools nor finished requests', async () => {
    const hang = hangOnce()
    const requests: number[] = []
    let effects = 0
    const act = tool({ inputSchema: z.object({}), execute: () => ++effects })
    const log = await crashed(
      agentOf(
        async ({ turn, signal, results }) => {
          requests.push(turn)
          if (turn === 1)
            return [
              { type: 'tool', name: 'act' },
              { type: 'tool', name: 'act' },
            ]
          await hang(signal)
          return results.map(({ output }) => output).join(' ')
        },
        { tools: { act } },
      ),
      'model.requested',
      2,
    )
    expect(effects).toBe(2)
    expect(requests).toEqual([1, 2, 2])
    expect(log.at(-1)!.data).toMatchObject({ output: '1 2' })
    expect(typesOf(log)).not.toContain('attempt.discarded')
  })

  test('a request that failed permanently is not repeated', async () => {
    const hang = hangOnce()
    let requests = 0
    const log = await crashed(
      agentOf(
        async ({ signal }) => {
          if (++requests === 1) throw Object.assign(new Error('busy'), { isRetryable: true })
          await hang(signal)
          throw Object.assign(new Error('busy'), { isRetryable: true })
        },
        { retries: 1, retryDelayMs: 1 },
      ),
      'model.requested',
      2,
    )
    expect(requests).toBe(3)
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { message: 'busy' } } })
  })
})

/** A tool that hangs once, beside one that is done. */
function cutOff(
  more: Partial<ModelAgentDefinition>,
  mark: <Tool extends object>(plain: Tool) => Tool,
): {
  component: ReturnType<typeof modelAgent>
  keys: unknown[]
} {
  const keys: unknown[] = []
  const hang = hangOnce()
  const pay = mark(
    tool({
      inputSchema: z.object({}),
      execute: async (_, options) => {
        keys.push((options.context as ToolContext).idempotencyKey)
        await hang(options.abortSignal)
        return 'paid'
      },
    }),
  )
  const ping = tool({ inputSchema: z.object({}), execute: () => keys.push('ping') })
  const component = agentOf(
    ({ turn, results }) =>
      turn === 1
        ? [
            { type: 'tool', name: 'ping' },
            { type: 'tool', name: 'pay' },
          ]
        : String(results[1]!.output),
    { tools: { pay, ping }, ...more },
  )
  return { component, keys }
}

describe('[RUN-1] model agent: after a crash within a tool', () => {
  test('an idempotent tool is repeated with the same key, and its finished neighbour is not', async () => {
    const { component, keys } = cutOff({}, idempotent)
    const log = await crashed(component, 'tool.completed')
    const pay = `${log[0]!.run}/1.2~/pay`
    expect(keys).toEqual(['ping', pay, pay])
    expect(log.at(-1)!.data).toMatchObject({ output: 'paid' })
  })

  test('a tool that is not idempotent waits for a decision, and its result can be provided', async () => {
    const { component, keys } = cutOff({}, (plain) => plain)
    const world = new World(component)
    const first = world.worker()
    const id = await first.start('subject', 'hello')
    await first.emitted(id, 'tool.completed')
    world.kill()
    const second = world.worker()
    const { run } = await second.reached(id, 'paused')
    expect(run.waiting).toMatchObject([{ kind: 'uncertain', details: { tool: 'pay' } }])
    await second.answer(id, { [run.waiting![0]!.id]: { action: 'result', value: 'paid by hand' } })
    const log = await second.ended(id)
    expect(keys).toHaveLength(2)
    expect(log.at(-1)!.data).toMatchObject({ output: 'paid by hand' })
  })

  test('a tool that is not idempotent fails the run, if configured', async () => {
    const { component } = cutOff({ onUncertainTool: 'fail' }, (plain) => plain)
    const log = await crashed(component, 'tool.completed')
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'uncertain_tool' } } })
  })
})

describe('model agent: a stop', () => {
  test('[RUN-2] reaches the model in the middle of its answer', async () => {
    let isAborted = false
    const waiting = Promise.withResolvers<void>()
    async function* answer(signal: AbortSignal | undefined): AsyncGenerator<ScriptedPart> {
      yield 'one '
      waiting.resolve() // the log may have the delta before the model is asked for the next part
      await aborted(signal!).finally(() => (isAborted = true))
    }
    const node = openNode({ components: [agentOf(({ signal }) => answer(signal))] })
    const id = await node.start('subject', 'hello')
    await node.emitted(id, 'text.delta')
    await waiting.promise
    await node.stop(id)
    expect(typesOf(await node.ended(id)).slice(-2)).toEqual(['stop.requested', 'run.cancelled'])
    expect(isAborted).toBe(true)
  })

  test('[RUN-2] reaches a tool, and is not reported to the model as a failure', async () => {
    let isAborted = false
    const waiting = Promise.withResolvers<void>()
    const wait = tool({
      inputSchema: z.object({}),
      execute: (_, { abortSignal }): Promise<string> => {
        waiting.resolve()
        return aborted(abortSignal!).finally(() => (isAborted = true))
      },
    })
    let requests = 0
    const script = (): ScriptedOutput => {
      requests++
      return [{ type: 'tool', name: 'wait' }]
    }
    const node = openNode({ components: [agentOf(script, { tools: { wait } })] })
    const id = await node.start('subject', 'hello')
    await node.emitted(id, 'tool.called')
    await waiting.promise
    await node.stop(id)
    const log = await node.ended(id)
    expect(log.at(-1)!.type).toBe('run.cancelled')
    expect(typesOf(log)).not.toContain('tool.failed')
    expect([isAborted, requests]).toEqual([true, 1])
  })
})
