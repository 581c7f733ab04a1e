/** Session history in model requests, for agents and teams. */
import { describe, expect, test } from 'vitest'
import { resultOf } from '../../../test/support/workflow-helpers.ts'
import { openNode, type TestNode } from '../../../test/support/node.ts'
import type { Component } from '../../core/ports/component.ts'
import { modelAgent, type ModelAgentDefinition } from './agent.ts'
import { scriptedModel } from './scripted/scripted.ts'

/** Responds with its messages, each as role and text. */
const listening = scriptedModel({
  script: ({ prompt }) =>
    prompt
      .filter(({ role }) => role !== 'system')
      .map(({ role, content }) => `${role}: ${(content as { text?: string }[]).map(({ text }) => text).join('')}`)
      .join(' | '),
})

function listener(more: Partial<ModelAgentDefinition> = {}): Component {
  return modelAgent({ id: 'subject', model: listening, ...more })
}

async function receivedOf(node: TestNode, input: unknown, component = 'subject'): Promise<string> {
  const log = await node.ended(await node.start(component, input, { session: 'ses_history' }))
  return resultOf(log) as string
}

describe('model agent: history', () => {
  test('the history has the agent’s earlier runs in the session', async () => {
    const node = openNode({ components: [listener()] })
    expect(await receivedOf(node, 'one')).toBe('user: one')
    expect(await receivedOf(node, 'two')).toBe('user: one | assistant: user: one | user: two')
  })

  test('the history has no more than the limit', async () => {
    const node = openNode({ components: [listener({ history: { maxMessages: 2 } })] })
    for (const word of ['one', 'two']) await receivedOf(node, word)
    expect(await receivedOf(node, 'three')).toBe(
      'user: two | assistant: user: one | assistant: user: one | user: two | user: three',
    )
  })

  test('the history is empty if it is turned off', async () => {
    const node = openNode({ components: [listener({ history: false })] })
    await receivedOf(node, 'one')
    expect(await receivedOf(node, 'two')).toBe('user: two')
  })

  test('the history is empty if the caller sends the conversation', async () => {
    const node = openNode({ components: [listener()] })
    await receivedOf(node, 'one')
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
      { role: 'user', content: 'c' },
    ]
    expect(await receivedOf(node, { messages })).toBe('user: a | assistant: b | user: c')
    expect(await receivedOf(node, { messages: messages.slice(2) })).toMatch(/^user: one \| .* \| user: c$/)
  })

  test('the history has every component of the session if configured', async () => {
    const other = listener({ id: 'other' })
    const node = openNode({ components: [listener({ history: { of: 'session' } }), other] })
    await receivedOf(node, 'one', 'other')
    expect(await receivedOf(node, 'two')).toBe('user: one | assistant: user: one | user: two')
  })
})
