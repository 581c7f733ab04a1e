/** What components say of their input, for those who make forms of it. */
import { ToolLoopAgent } from 'ai'
import { describe, expect, test } from 'vitest'
import { aiAgent } from '../src/agents/ai-agent/agent.ts'
import { agent } from '../src/agents/generator.ts'
import { modelAgent } from '../src/agents/model/agent.ts'
import { modelInputSchema } from '../src/agents/model/input.ts'
import { scriptedModel } from '../src/agents/model/scripted.ts'
import { processAgent } from '../src/agents/process/agent.ts'
import { team } from '../src/agents/team/team.ts'
import { parallel, step, steps, workflow } from '../src/agents/workflow/index.ts'
import { demoComponents } from '../src/cli/demo/components.ts'

const model = scriptedModel({ script: () => 'yes' })
const inputSchema = { type: 'object', properties: { city: { type: 'string' } } } as const

describe('the input schema of a component', () => {
  test('is what its author declares', () => {
    const member = modelAgent({ id: 'm', model, inputSchema })
    const given = [
      member,
      aiAgent({ id: 'a', agent: new ToolLoopAgent({ model }), inputSchema }),
      team({ id: 't', members: [member], model, inputSchema }),
      processAgent({ id: 'p', command: 'true', inputSchema }),
      workflow({ id: 'w', steps: [step({ name: 's', run: () => 1 })], info: { inputSchema } }),
    ]
    for (const { info } of given) expect(info?.inputSchema).toBe(inputSchema)
  })

  test('is that of a model by default', () => {
    const member = modelAgent({ id: 'm', model })
    for (const { info } of [
      member,
      aiAgent({ id: 'a', agent: new ToolLoopAgent({ model }) }),
      team({ id: 't', members: [member], model }),
    ])
      expect(info?.inputSchema).toBe(modelInputSchema)
    expect(processAgent({ id: 'p', command: 'true' }).info).toBeUndefined()
  })

  test('a workflow has the input schema of its first step, if all of the input goes there', () => {
    const first = agent<{ city: string }>({
      id: 'first',
      info: { inputSchema },
      async *run() {},
    })
    const last = step({ name: 'last', run: () => 1 })
    expect(workflow({ id: 'w', steps: [first, last] }).info?.inputSchema).toBe(inputSchema)
    const inside = steps('inside', [step({ name: 'do', run: first })])
    expect(workflow({ id: 'w', steps: [inside, last] }).info?.inputSchema).toBe(inputSchema)
    const around = workflow({ id: 'around', steps: [workflow({ id: 'within', steps: [first] }), last] })
    expect(around.info?.inputSchema).toBe(inputSchema)
    const other = step({ name: 'other', run: first, input: () => ({ city: 'Oslo' }) })
    expect(workflow({ id: 'w', steps: [other] }).info).toBeUndefined()
    const several = parallel({ name: 'several', branches: [step({ name: 'one', run: first }), last] })
    expect(workflow({ id: 'w', steps: [several] }).info).toBeUndefined()
  })

  test('exists for every component of the demo', () => {
    for (const { id, info } of demoComponents({ description: 'scripted', load: async () => undefined }))
      expect(info?.inputSchema, id).toMatchObject({ type: 'string' })
  })
})
