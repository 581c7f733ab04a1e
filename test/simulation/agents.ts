/** The agents of simulated runs. The script in its input decides what an agent does, so every attempt does the same. */
import type { Component, Emission, RecoveryPolicy, RunContext } from '../../src/core/ports/component.ts'
import { WorkError } from '../../src/core/ports/component.ts'
import { type Model, textsOf } from './model.ts'
import type { Op } from './plan.ts'

/** Work of agents outside of their context: it takes time, and ends with the node. */
export interface AgentWorld {
  readonly model: Model
  /** Under which the node claims its runs. */
  owner(): string | undefined
  delay(milliseconds: number, signal: AbortSignal): Promise<void>
  nonce(): number
}

interface Script {
  readonly ops: readonly Op[]
}

export const RECOVERIES: readonly RecoveryPolicy[] = ['fail', 'retry', 'resume']

export function componentsFor(world: AgentWorld): Component[] {
  return RECOVERIES.flatMap((recovery) => [scripted(world, recovery, false), scripted(world, recovery, true)])
}

export function componentId(recovery: RecoveryPolicy, release: boolean): string {
  return release ? `${recovery}-released` : recovery
}

function scripted(world: AgentWorld, recovery: RecoveryPolicy, release: boolean): Component {
  return {
    id: componentId(recovery, release),
    kind: 'agent',
    recovery,
    onPause: release ? 'release' : 'keep',
    run: (input, context) => runScript(world, (input as Script).ops, context, rootOf(context.runId)),
  }
}

const child = (world: AgentWorld, n: number, ops: readonly Op[], fails: boolean): Component => ({
  id: `child${n}`,
  kind: 'agent',
  run: (_input, context) => runScript(world, ops, context, rootOf(context.runId), fails),
})

function rootOf(run: string): string {
  const slash = run.indexOf('/')
  return slash < 0 ? run : run.slice(0, slash)
}

async function* runScript(
  world: AgentWorld,
  ops: readonly Op[],
  context: RunContext,
  run: string,
  fails = false,
): AsyncGenerator<Emission, unknown, void> {
  for (const op of ops) {
    if (op.kind === 'text') {
      for (const text of textsOf(op.n, op.count)) yield text
    } else if (op.kind === 'unserializable') {
      yield { type: 'custom.emitted', data: { name: 'broken', value: { deep: () => 0 } } }
    } else await perform(world, op, context, run)
  }
  if (fails) throw new Error('this child fails')
  return { done: ops.length }
}

async function perform(world: AgentWorld, op: Op, context: RunContext, run: string): Promise<void> {
  const name = `${op.kind}${op.n}`
  switch (op.kind) {
    case 'step':
      return step(world, op, name, context, run)
    case 'tool': {
      const call = { name, input: { n: op.n }, idempotent: op.idempotent }
      const result = await context.tool(call, async ({ key, signal }) => {
        world.model.effect(run, key.slice(context.runId.length + 1), op.idempotent, world.owner())
        await world.delay(op.ms, signal)
        return { of: name, nonce: world.nonce() }
      })
      return world.model.result(run, 'tool', name, result)
    }
    case 'ask':
      return world.model.answered(run, name, await context.ask({ prompt: name }))
    case 'sleep':
      return context.sleep(op.ms)
    case 'child':
      return callChild(world, op.n, op.ops, op.fails, context)
    case 'parallel':
      return parallel(world, op.branches, context, run)
    case 'throw':
      throw new Error('this agent throws')
    case 'reject':
      return context.reject('this agent rejects')
    default:
  }
}

async function step(
  world: AgentWorld,
  op: Extract<Op, { kind: 'step' }>,
  name: string,
  context: RunContext,
  run: string,
): Promise<void> {
  try {
    const result = await context.step(name, async (signal) => {
      world.model.stepping(run, name, world.owner())
      await world.delay(op.ms, signal)
      if (op.fails) throw new Error(`${name} fails`)
      return { of: name, nonce: world.nonce() }
    })
    world.model.result(run, 'step', name, result)
  } catch (thrown) {
    if (!(thrown instanceof WorkError) || !op.fails) throw thrown
  }
}

async function callChild(
  world: AgentWorld,
  n: number,
  ops: readonly Op[],
  fails: boolean,
  context: RunContext,
): Promise<void> {
  try {
    await context.call(child(world, n, ops, fails), { n }, { retractFailure: true })
  } catch (thrown) {
    if (!(thrown instanceof WorkError) || !fails) throw thrown
  }
}

/** A branch cannot yield, so a component that it calls emits its text. */
async function parallel(
  world: AgentWorld,
  branches: readonly (readonly Op[])[],
  context: RunContext,
  run: string,
): Promise<void> {
  const ended = await Promise.allSettled(
    branches.map(async (ops, at) => {
      const within = context.within(`b${at}`)
      for (const op of ops) {
        if (op.kind === 'text') await callChild(world, op.n, [op], false, within)
        else await perform(world, op, within, run)
      }
    }),
  )
  for (const { status, reason } of ended as PromiseRejectedResult[]) if (status === 'rejected') throw reason
}
