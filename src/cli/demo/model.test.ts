import { describe, expect, test } from 'vitest'
import { demoModel } from './model.ts'

const all = (): boolean => true

describe('demo: the model', () => {
  test.for([
    [{}, {}, /^the scripted model, without a key/],
    [{}, { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }, /^gpt-\S+ of OpenAI/],
    [{ name: 'gpt-9' }, { OPENAI_API_KEY: 'k' }, /^gpt-9 of OpenAI/],
    [{}, { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: '' }, /^claude-\S+ of Anthropic/],
    [{ url: 'http://localhost:1/v1' }, { OPENAI_API_KEY: 'k' }, /^the first model at http:\/\/localhost:1\/v1$/],
    [{ url: 'http://localhost:1/v1', name: 'llama', key: 'k' }, {}, /^llama at http:\/\/localhost:1\/v1$/],
  ] as const)('options %j and environment %j select %s', ([config, env, description]) => {
    expect(demoModel(config, env, all).description).toMatch(description)
  })

  test.for([
    [{ key: 'k' }, { OPENAI_API_KEY: 'k' }, '--model-key needs --model-url'],
    [{ name: 'llama' }, {}, '--model needs --model-url, OPENAI_API_KEY or ANTHROPIC_API_KEY'],
  ] as const)('%j with %j is rejected: %s', ([config, env, message]) => {
    expect(() => demoModel(config, env, all)).toThrow(message)
  })

  test.for([
    ['@ai-sdk/openai', {}, { OPENAI_API_KEY: 'k' }],
    ['@ai-sdk/anthropic', {}, { ANTHROPIC_API_KEY: 'k' }],
    ['@ai-sdk/openai-compatible', { url: 'http://localhost:1/v1' }, {}],
    ['ai', {}, {}],
  ] as const)('a missing package %s is an error that asks to install it', ([name, config, env]) => {
    const model = (): unknown => demoModel(config, env, (each) => each !== name)
    expect(model).toThrow(`needs ${name}, which is not installed: npm install ${name}`)
    const neither = (): unknown => demoModel({}, { OPENAI_API_KEY: 'k' }, () => false)
    expect(neither).toThrow('npm install ai @ai-sdk/openai')
  })
})
