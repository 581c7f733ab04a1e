/** A team whose members have one tool each; every tool fails in a different way. */
import { setTimeout as wait } from 'node:timers/promises'
import { tool } from 'ai'
import { z } from 'zod'
import { modelAgent, type ModelAgentDefinition } from '../../../src/agents/model/agent.ts'
import { type ScriptedPart, scriptedModel } from '../../../src/agents/model/scripted/scripted.ts'
import { team } from '../../../src/agents/team/team.ts'
import type { Component } from '../../../src/core/ports/component.ts'

interface Trouble {
  readonly execute?: () => unknown
  /** How the model calls the tool, if wrongly. */
  readonly call?: Omit<Extract<ScriptedPart, { type: 'tool' }>, 'type'>
  readonly more?: object
  readonly agent?: Partial<ModelAgentDefinition>
  /** Calls the tool again after any result. */
  readonly endless?: boolean
}

const troubles: Readonly<Record<string, Trouble>> = {
  throws: { execute: () => fail(new RangeError('boom')) },
  'throws-text': { execute: () => fail('plain') },
  'throws-nothing': { execute: () => fail(undefined) },
  'throws-unreadable': { execute: () => fail(unreadable()) },
  'rejects-late': {
    async execute() {
      await wait(20)
      throw new Error('too late')
    },
  },
  'times-out': { execute: () => wait(60_000, 'late', { signal: AbortSignal.timeout(20) }) },
  'breaks-off': {
    async *execute() {
      yield 'half'
      throw new Error('no other half')
    },
  },
  unserializable: { execute: () => ({ deep: [() => 1] }) },
  'too-large': { execute: () => 'x'.repeat(5_000_000) },
  'malformed-input': { call: { name: 'act', raw: '{"city":' } },
  'wrong-input': { call: { name: 'act', input: { city: 5 } } },
  'unknown-tool': { call: { name: 'act-of-god' } },
  'approval-throws': { more: { needsApproval: () => fail(new Error('nobody knows')) } },
  endless: { execute: () => 'again', endless: true, agent: { maxSteps: 4 } },
}

function fail(cause: unknown): never {
  throw cause
}

function unreadable(): object {
  return {
    get message(): string {
      throw new Error('not to be read')
    },
  }
}

function member(id: string, { execute = () => 'never', call, more, agent, endless = false }: Trouble): Component {
  const act = { ...tool({ inputSchema: z.object({ city: z.string().optional() }) }), execute, ...more }
  return modelAgent({
    id,
    tools: { act: act as never },
    model: scriptedModel({
      script({ turn, results }) {
        if (turn === 1 || endless) return [{ type: 'tool', name: 'act', ...call }]
        return results.map(({ failed, output }) => `${failed ? 'failed' : 'done'}: ${String(output)}`).join(' ')
      },
    }),
    ...agent,
  })
}

/** Gives a task to every member at once, and answers with the result of each. */
export const troubled: Component = team({
  id: 'troubled',
  members: Object.entries(troubles).map(([id, trouble]) => member(id, trouble)),
  model: scriptedModel({
    script({ turn, results }) {
      if (turn === 1) return Object.keys(troubles).map(delegate)
      const reported = results.map(
        ({ failed, output }) => `${failed ? 'member failed' : 'member said'}: ${String(output)}`,
      )
      return JSON.stringify(reported)
    },
  }),
})

function delegate(id: string): ScriptedPart {
  return { type: 'tool', name: 'delegate_task_to_member', input: { member: id, task: 'act' } }
}

/** Its only member's tool never ends, and ignores its signal. */
export const deaf: Component = team({
  id: 'deaf',
  limits: { stopGraceMs: 200 },
  members: [member('deaf-member', { execute: () => new Promise(() => {}) })],
  model: scriptedModel({ script: () => [delegate('deaf-member')] }),
})

/** Its only member's tool returns a result, and leaves an unhandled rejection behind. */
export const careless: Component = team({
  id: 'careless',
  members: [
    member('careless-member', {
      async execute() {
        void wait(5).then(() => fail(new Error('unheard')))
        return wait(60_000, 'fine')
      },
    }),
  ],
  model: scriptedModel({ script: () => [delegate('careless-member')] }),
})
