/** The JSON Schemas that components publish, for clients that generate forms. */
import { ToolLoopAgent } from 'ai'
import { describe, expect, test } from 'vitest'
import { aiAgent } from '../../src/agents/ai-agent/agent.ts'
import { agent } from '../../src/agents/agent.ts'
import { modelAgent } from '../../src/agents/model/agent.ts'
import { modelInput } from '../../src/agents/model/input.ts'
import { scriptedModel } from '../../src/agents/model/scripted/scripted.ts'
import { processAgent } from '../../src/agents/process/agent.ts'
import { team } from '../../src/agents/team/team.ts'
import { parallel, step, steps, workflow } from '../../src/agents/workflow/index.ts'
import { demoComponents } from '../../src/cli/demo/components.ts'
import type { Component } from '../../src/core/ports/component.ts'
import { fromJsonSchema, jsonSchemaOf } from '../../src/core/schema/json-schema.ts'

const model = scriptedModel({ script: () => 'yes' })
const inputSchema = { type: 'object', properties: { city: { type: 'string' } } }
const input = fromJsonSchema<{ city: string }>(inputSchema)

const publishedBy = (component: Pick<Component, 'input'>): unknown =>
  component.input === undefined ? undefined : jsonSchemaOf(component.input, 'input')

describe('the input schema of a component', () => {
  test('is what its author declares', () => {
    const member = modelAgent({ id: 'm', model, input })
    const given = [
      member,
      aiAgent({ id: 'a', agent: new ToolLoopAgent({ model }), input }),
      team({ id: 't', members: [member], model, input }),
      processAgent({ id: 'p', command: 'true', input }),
      workflow({ id: 'w', steps: [step({ name: 's', run: () => 1 })], input }),
    ]
    for (const component of given) expect(publishedBy(component)).toEqual(inputSchema)
  })

  test('is that of a model by default', () => {
    const member = modelAgent({ id: 'm', model })
    for (const component of [
      member,
      aiAgent({ id: 'a', agent: new ToolLoopAgent({ model }) }),
      team({ id: 't', members: [member], model }),
    ])
      expect(component.input).toBe(modelInput)
    expect(processAgent({ id: 'p', command: 'true' }).input).toBeUndefined()
  })

  test('a workflow has the input schema of its first step, if all of the input goes there', () => {
    const first = agent({ id: 'first', input, async *run() {} })
    const last = step({ name: 'last', run: () => 1 })
    expect(publishedBy(workflow({ id: 'w', steps: [first, last] }))).toEqual(inputSchema)
    const inside = steps('inside', [step({ name: 'do', run: first })])
    expect(publishedBy(workflow({ id: 'w', steps: [inside, last] }))).toEqual(inputSchema)
    const around = workflow({ id: 'around', steps: [workflow({ id: 'within', steps: [first] }), last] })
    expect(publishedBy(around)).toEqual(inputSchema)
    const other = step({ name: 'other', run: first, input: () => ({ city: 'Oslo' }) })
    expect(workflow({ id: 'w', steps: [other] }).input).toBeUndefined()
    const several = parallel({ name: 'several', branches: [step({ name: 'one', run: first }), last] })
    expect(workflow({ id: 'w', steps: [several] }).input).toBeUndefined()
  })

  test('exists for every component of the demo', () => {
    for (const component of demoComponents({ description: 'scripted', load: async () => undefined }))
      expect(publishedBy(component), component.id).toMatchObject({ type: 'string' })
  })
})
