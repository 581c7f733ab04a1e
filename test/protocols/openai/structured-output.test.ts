/** The caller's output schema reaches the model through an OpenAI-compatible provider. */
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { modelAgent } from '../../../src/agents/model/agent.ts'
import { demoModel } from '../../../src/cli/demo/model.ts'
import { obedient } from '../../interop/openai/obedient.ts'
import { serveNative } from '../native/serve.ts'

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, mood: { enum: ['calm', 'wild'] }, depth: { type: 'integer', minimum: 7 } },
  required: ['city', 'mood', 'depth'],
  additionalProperties: false,
}
const PROMPT = 'Describe the city Bergen'
const EXPECTED = { city: 'Bergen', mood: 'calm', depth: 7 }

async function client(): Promise<OpenAI> {
  const upstream = await serveNative({ components: [obedient] })
  const model = await demoModel({ url: `${upstream.url}/v1`, name: 'obedient' }, {}).load()
  const { url } = await serveNative({ components: [modelAgent({ id: 'writer', model: model! })] })
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
}

describe('OpenAI: structured output', () => {
  test('a JSON schema of chat completions reaches the model, whole and streamed', async () => {
    const openai = await client()
    const request = {
      model: 'writer',
      messages: [{ role: 'user' as const, content: PROMPT }],
      response_format: { type: 'json_schema' as const, json_schema: { name: 'place', schema, strict: true } },
    }
    const whole = await openai.chat.completions.create(request)
    expect(JSON.parse(whole.choices[0]!.message.content!)).toEqual(EXPECTED)
    let text = ''
    for await (const { choices } of await openai.chat.completions.create({ ...request, stream: true }))
      text += choices[0]?.delta.content ?? ''
    expect(JSON.parse(text)).toEqual(EXPECTED)
  })

  test('a JSON schema of responses reaches the model', async () => {
    const openai = await client()
    const { output_text: text } = await openai.responses.create({
      model: 'writer',
      input: PROMPT,
      text: { format: { type: 'json_schema', name: 'place', schema, strict: true } },
    })
    expect(JSON.parse(text)).toEqual(EXPECTED)
  })
})
