/** What a caller wants of a model: what is passed on, and what the author of the agent has decided. */
import type { ModelMessage } from 'ai'
import { describe, expect, test } from 'vitest'
import { modelAgent, type ModelAgentDefinition } from './agent.ts'
import { callerOptionsOf, withCaller } from './caller-options.ts'
import { scriptedModel } from './scripted.ts'
import { loadSdk } from './sdk.ts'

const messages: ModelMessage[] = [{ role: 'user', content: 'hi' }]
const model = scriptedModel({ script: () => 'hello' })

describe('a caller that is not one', () => {
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
  ])('is refused when the run is started: %j', (caller) => {
    const agent = modelAgent({ id: 'a', model })
    expect(() => agent.parse!({ messages, caller })).toThrow('caller')
  })

  test.each([undefined, {}, { instructions: '', tools: [], toolChoice: { tool: 'a' }, output: {}, settings: {} }])(
    'is taken: %j',
    (caller) => {
      expect(callerOptionsOf({ messages, caller })).toEqual(caller ?? {})
    },
  )
})

describe('what the author has decided stands', () => {
  const own: ModelAgentDefinition = { id: 'a', model, instructions: 'Be kind.', settings: { temperature: 0 } }

  test('and what the caller wants is added', async () => {
    const sdk = await loadSdk()
    const settings = { temperature: 1, topP: 0.5, headers: { evil: 'x' } }
    const wishes = withCaller(sdk, { instructions: 'Be brief.', settings }, own)
    expect(wishes).toEqual({
      model,
      instructions: 'Be kind.\n\nBe brief.',
      settings: { temperature: 0, topP: 0.5 },
    })
  })

  test('a caller without wishes changes nothing', async () => {
    const sdk = await loadSdk()
    expect(withCaller(sdk, {}, own)).toEqual({ model, instructions: 'Be kind.', settings: { temperature: 0 } })
  })

  test('a choice of tool holds for the answer to the user, and not for the one to the tool', async () => {
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
