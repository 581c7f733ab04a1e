/** Model options of a caller: which are passed on, and which the agent's own options override. */
import type { ModelMessage } from 'ai'
import { describe, expect, test } from 'vitest'
import { validate } from '../../core/schema/validate.ts'
import { modelAgent, type ModelAgentDefinition } from './agent.ts'
import { callerOptionsOf, withCaller } from './caller-options.ts'
import { scriptedModel } from './scripted/scripted.ts'
import { loadSdk } from './sdk.ts'

const messages: ModelMessage[] = [{ role: 'user', content: 'hi' }]
const model = scriptedModel({ script: () => 'hello' })

describe('model agent: the caller’s options', () => {
  test.each([
    [null],
    ['text'],
    [{ instructions: 1 }],
    [{ tools: {} }],
    [{ tools: [{ description: 'no name' }] }],
    [{ tools: [{ name: '' }] }],
    [{ tools: [{ name: 'a', parameters: 'x' }] }],
    [{ toolChoice: 'maybe' }],
    [{ toolChoice: {} }],
    [{ output: [] }],
    [{ settings: 1 }],
  ])('are rejected when the run is started: %j', async (caller) => {
    const agent = modelAgent({ id: 'a', model })
    const { issues } = await validate(agent.input!, { messages, caller })
    expect(issues).toMatchObject([{ message: expect.stringContaining('caller') }])
  })

  test.each([undefined, {}, { instructions: '', tools: [], toolChoice: { tool: 'a' }, output: {}, settings: {} }])(
    'are accepted: %j',
    (caller) => {
      expect(callerOptionsOf({ messages, caller })).toEqual(caller ?? {})
    },
  )
})

describe('model agent: the author’s options take precedence', () => {
  const own: ModelAgentDefinition = { id: 'a', model, instructions: 'Be kind.', settings: { temperature: 0 } }

  test('the caller’s instructions and settings are added to the author’s', async () => {
    const sdk = await loadSdk()
    const settings = { temperature: 1, topP: 0.5, headers: { evil: 'x' } }
    const wishes = withCaller(sdk, { instructions: 'Be brief.', settings }, own)
    expect(wishes).toEqual({
      model,
      instructions: 'Be kind.\n\nBe brief.',
      settings: { temperature: 0, topP: 0.5 },
    })
  })

  test('a caller without options changes nothing', async () => {
    const sdk = await loadSdk()
    expect(withCaller(sdk, {}, own)).toEqual({ model, instructions: 'Be kind.', settings: { temperature: 0 } })
  })

  test('the caller’s tool choice applies to the answer to the user, not to tool results', async () => {
    const sdk = await loadSdk()
    const seen: unknown[] = []
    const watching = {
      ...model,
      doGenerate: (options: Parameters<typeof model.doGenerate>[0]) => (
        seen.push(options.toolChoice),
        model.doGenerate(options)
      ),
    }
    const chosen = withCaller(sdk, { toolChoice: { tool: 'weather' } }, { model: watching }).model as typeof model
    const user = { role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }
    await chosen.doGenerate({ prompt: [user] })
    await chosen.doGenerate({ prompt: [user, { role: 'tool', content: [] }] })
    expect(seen).toEqual([{ type: 'tool', toolName: 'weather' }, undefined])
  })
})
