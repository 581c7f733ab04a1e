/** Options are checked when a component is defined: wrong values and unknown names are rejected. */
import { ToolLoopAgent } from 'ai'
import { describe, expect, test } from 'vitest'
import { aiAgent } from '../../src/agents/ai-agent/agent.ts'
import { agent } from '../../src/agents/agent.ts'
import { isolated } from '../../src/agents/isolated/component.ts'
import { langGraphAgent } from '../../src/agents/langgraph/agent.ts'
import { scriptedModel } from '../../src/agents/model/scripted/scripted.ts'
import { openAiAgent } from '../../src/agents/openai-agents/agent.ts'
import { processAgent } from '../../src/agents/process/agent.ts'
import { remoteA2aAgent } from '../../src/agents/remote-a2a/agent.ts'
import { remoteAgentOs } from '../../src/agents/remote-agentos/agent.ts'
import { team } from '../../src/agents/team/team.ts'
import { condition, loop, parallel, router, step, workflow } from '../../src/agents/workflow/index.ts'
import { HoldfastError } from '../../src/core/model/errors.ts'
import { Registry } from '../../src/core/registry.ts'
import { holdfast } from '../../src/mount/holdfast.ts'
import { createServer } from '../../src/server/create-server.ts'
import { createWorker } from '../../src/server/create-worker.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'

const model = scriptedModel({ script: () => 'yes' })
const run = async function* (): AsyncGenerator<string, void, void> {}
const doing = step({ name: 'do', run: () => 1 })
const here = new URL('../scenarios/isolated/everything.ts', import.meta.url)

/** Everything that takes a definition, with additional options. Types do not help at run time. */
const definers: readonly (readonly [string, (more: object) => unknown])[] = [
  ['agent a', (more) => agent({ id: 'a', run, ...more } as never)],
  ['agent a', (more) => agent({ id: 'a', model, ...more })],
  ['team a', (more) => team({ id: 'a', model, members: [agent({ id: 'm', run })], ...more })],
  ['workflow a', (more) => workflow({ id: 'a', steps: [doing], ...more } as never)],
  ['aiAgent a', (more) => aiAgent({ id: 'a', agent: new ToolLoopAgent({ model }), ...more })],
  ['langGraphAgent a', (more) => langGraphAgent({ id: 'a', graph: {}, ...more } as never)],
  ['openAiAgent a', (more) => openAiAgent({ id: 'a', agent: {}, ...more } as never)],
  ['processAgent a', (more) => processAgent({ id: 'a', command: 'true', ...more })],
  ['remoteA2aAgent a', (more) => remoteA2aAgent({ id: 'a', url: 'http://localhost', ...more })],
  ['remoteAgentOs a', (more) => remoteAgentOs({ id: 'a', url: 'http://localhost', ...more })],
]

const others: readonly (readonly [string, (more: object) => unknown])[] = [
  ['isolated()', (more) => isolated(here, more)],
  ['holdfast()', (more) => holdfast({ components: [], store: 'memory:', ...more })],
  ['createServer()', (more) => createServer({ components: [], store: createMemoryStore(), ...more })],
  ['createWorker()', async (more) => createWorker({ components: [], store: 'memory:', ...more })],
  ['step "do"', (more) => step({ name: 'do', run: () => 1, ...more } as never)],
  ['parallel "p"', (more) => parallel({ name: 'p', branches: [doing], ...more })],
  ['loop "l"', (more) => loop({ name: 'l', body: doing, until: () => true, ...more } as never)],
  ['condition "c"', (more) => condition({ name: 'c', when: () => true, do: doing, ...more })],
  ['router "r"', (more) => router({ name: 'r', choices: [doing], choose: () => 'do', ...more })],
]

async function refusalOf(define: (more: object) => unknown, more: object): Promise<HoldfastError> {
  try {
    await define(more)
  } catch (thrown) {
    return thrown as HoldfastError
  }
  throw new Error('nothing was refused')
}

describe('options of a definition', () => {
  test.each(definers)('%s: a wrong value is refused with the allowed ones', async (subject, define) => {
    const { code, message } = await refusalOf(define, { recovery: 'restart' })
    expect(code).toBe('invalid_request')
    expect(message).toBe(`${subject}: recovery must be "fail", "retry" or "resume", not "restart"`)
  })

  test.each(definers)('%s: a typo is refused with the name that was meant', async (subject, define) => {
    const { code, message } = await refusalOf(define, { recover: 'resume' })
    expect(code).toBe('invalid_request')
    expect(message).toBe(`${subject}: unknown option recover: did you mean recovery?`)
  })

  test.each([...definers, ...others])(
    '%s: an unknown option is refused with the known ones',
    async (subject, define) => {
      const { message } = await refusalOf(define, { somethingElse: 1 })
      expect(message).toMatch(
        new RegExp(`^${RegExp.escape(subject)}: unknown option somethingElse: its options are \\w+, `),
      )
    },
  )

  test('limits of a component and of a server are checked too', async () => {
    const component = await refusalOf(definers[0]![1], { limits: { runTimeoutMS: 5 } })
    expect(component.message).toBe('agent a: limits: unknown option runTimeoutMS: did you mean runTimeoutMs?')
    const server = await refusalOf(others[2]![1], { limits: { leaseMs: '5' } })
    expect(server.message).toBe('createServer(): limits: leaseMs must be a number that is not negative, not "5"')
  })

  test('what is required is named', async () => {
    expect((await refusalOf(() => agent({ run } as never), {})).message).toBe('agent undefined: id is missing')
    expect((await refusalOf(() => holdfast({} as never), {})).message).toBe('holdfast(): components is missing')
  })

  test('agent(): run or model decides what it is; both, neither, or options of the other kind are refused', async () => {
    const message = async (definition: object): Promise<string> =>
      (await refusalOf(() => agent(definition as never), {})).message
    expect(await message({ id: 'a' })).toBe(
      'agent a: it has neither run nor model: add `async *run(input) { … }`, or a model of the AI SDK',
    )
    expect(await message({ id: 'a', run, model })).toMatch(/^agent a: it has both run and model: leave one out\./)
    expect(await message({ id: 'a', run, instructions: 'Be brief.' })).toBe(
      'agent a: it has the option instructions, which only agents with model have',
    )
    expect(agent({ id: 'a', run, model: undefined } as never)).toEqual({ id: 'a', kind: 'agent', run })
    // @ts-expect-error -- both
    expect(() => agent({ id: 'a', run, model })).toThrow('both run and model')
    // @ts-expect-error -- neither
    expect(() => agent({ id: 'a' })).toThrow('neither run nor model')
  })

  test('a component that was written by hand is checked when it is served', () => {
    const component = { id: 'a', kind: 'agent', recovery: 'restart', run } as never
    expect(() => new Registry([component])).toThrow('agent a: recovery must be "fail", "retry" or "resume"')
    expect(() => new Registry([{ id: 'a', kind: 'agnet', run } as never])).toThrow(
      'kind must be "agent", "team" or "workflow"',
    )
  })
})
