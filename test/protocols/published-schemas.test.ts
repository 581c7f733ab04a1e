/** The JSON Schema of a component's input, from common schema libraries, in every protocol that publishes schemas. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import OpenAI from 'openai'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { inputFormOf } from '../../console/form/schema-form.ts'
import { A2aClient } from '../../src/a2a/index.ts'
import { agent } from '../../src/agents/agent.ts'
import type { StandardSchema } from '../../src/core/ports/schema.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { serveInProcess } from '../support/in-process.ts'

interface Trip {
  city: string
  days: number
}

const libraries: readonly (readonly [string, StandardSchema<Trip>])[] = [
  ['zod', z.object({ city: z.string(), days: z.number().min(1) })],
  ['valibot', toStandardJsonSchema(v.object({ city: v.string(), days: v.pipe(v.number(), v.minValue(1)) }))],
  ['arktype', type({ city: 'string', days: 'number >= 1' })],
]

const published = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'number', minimum: 1 } },
  required: ['city', 'days'],
}

const SCHEMAS = 'https://holdfast.dev/a2a/extensions/schemas/v1'

interface Document {
  readonly paths: {
    readonly '/runs': {
      readonly post: {
        readonly requestBody: { readonly content: { readonly 'application/json': { readonly schema: unknown } } }
      }
    }
  }
  readonly components: { readonly schemas: Readonly<Record<string, { readonly properties: { input: unknown } }>> }
}

interface Card {
  readonly capabilities: { readonly extensions: readonly { readonly uri: string; readonly params?: unknown }[] }
}

async function read<Body>(url: string, headers: Record<string, string> = {}): Promise<Body> {
  return (await (await fetch(url, { headers })).json()) as Body
}

describe.each(libraries)('an input schema of %s', (_, schema) => {
  const planner = agent({
    id: 'planner',
    input: schema,
    async *run({ city, days }) {
      yield `${days} days in ${city}`
    },
  })
  const open = () => serveInProcess({ components: [planner], store: createMemoryStore() })

  test('is published by native, OpenAPI, OpenAI, AgentOS and A2A, and the console makes a form of it', async () => {
    const { url } = await open()
    const { components } = await read<{ components: [{ inputSchema: Record<string, unknown> }] }>(`${url}/components`)
    expect(components[0].inputSchema).toMatchObject(published)
    expect(inputFormOf(components[0])!.fields.map(({ name, kind }) => [name, kind])).toEqual([
      ['city', 'text'],
      ['days', 'number'],
    ])
    const document = await read<Document>(`${url}/openapi.json`)
    expect(document.components.schemas['Start.planner']).toMatchObject({
      properties: { component: { const: 'planner' }, input: published },
      required: ['component', 'input'],
    })
    expect(document.paths['/runs'].post.requestBody.content['application/json'].schema).toMatchObject({
      anyOf: [{ $ref: '#/components/schemas/Start.planner' }, { $ref: '#/components/schemas/Start' }],
    })
    expect(await read(`${url}/v1/models/planner`)).toMatchObject({ input_schema: published })
    expect(await read(`${url}/agents/planner`)).toMatchObject({ input_schema: published })
    const card = await read<Card>(`${url}/a2a/planner/.well-known/agent-card.json`)
    expect(card.capabilities.extensions.find(({ uri }) => uri === SCHEMAS)?.params).toMatchObject({ input: published })
  })

  test('can be met in protocols that send texts, by JSON, and in A2A by a data part', async () => {
    const { url } = await open()
    const content = JSON.stringify({ city: 'Oslo', days: 3 })
    const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
    const chat = await openai.chat.completions.create({ model: 'planner', messages: [{ role: 'user', content }] })
    expect(chat.choices[0]!.message.content).toBe('3 days in Oslo')
    const response = await openai.responses.create({ model: 'planner', input: content })
    expect(response.output_text).toBe('3 days in Oslo')
    const form = new URLSearchParams({ message: content, stream: 'false' })
    const run = await (await fetch(`${url}/agents/planner/runs`, { method: 'POST', body: form })).json()
    expect(run).toMatchObject({ status: 'COMPLETED', content: '3 days in Oslo' })
    const a2a = await A2aClient.connect(`${url}/a2a/planner`)
    expect(JSON.stringify(await a2a.send({ parts: [{ data: { city: 'Oslo', days: 3 } }] }))).toContain('3 days in Oslo')
    const wrong = openai.chat.completions.create({ model: 'planner', messages: [{ role: 'user', content: 'Oslo' }] })
    await expect(wrong).rejects.toMatchObject({ status: 400 })
  })
})

test('[SEC-1] schemas: what everybody may read names no schema of a server with authentication; a credential shows them', async () => {
  const key = 'a-shared-key-of-the-test'
  const planner = agent({ id: 'planner', input: z.object({ city: z.string() }), async *run() {} })
  const { url } = await serveInProcess({
    components: [planner],
    store: createMemoryStore(),
    auth: { securityKey: key },
  })
  const document = await read<Document>(`${url}/openapi.json`)
  expect(Object.keys(document.components.schemas)).not.toContain('Start.planner')
  const card = await read<Card>(`${url}/a2a/planner/.well-known/agent-card.json`)
  expect(card.capabilities.extensions.map(({ uri }) => uri)).not.toContain(SCHEMAS)
  expect((await fetch(`${url}/components?format=openapi`)).status).toBe(401)
  const headers = { authorization: `Bearer ${key}`, 'a2a-version': '1.0' }
  const own = await read<Document>(`${url}/components?format=openapi`, headers)
  expect(own.components.schemas['Start.planner']!.properties.input).toMatchObject({ type: 'object' })
  const extended = await read<Card>(`${url}/a2a/planner/extendedAgentCard`, headers)
  expect(extended.capabilities.extensions.find(({ uri }) => uri === SCHEMAS)?.params).toMatchObject({
    input: { properties: { city: { type: 'string' } } },
  })
  expect((await fetch(`${url}/components?format=yaml`, { headers })).status).toBe(400)
})

test('OpenAPI: local references of a schema lead to the same place within the document', async () => {
  interface Tree {
    name: string
    children: Tree[]
  }
  const tree: z.ZodType<Tree> = z.object({ name: z.string(), children: z.lazy(() => tree.array()) })
  const pruner = agent({ id: 'pruner', input: tree, async *run() {} })
  const { url } = await serveInProcess({ components: [pruner], store: createMemoryStore() })
  const document = await read<Document>(`${url}/openapi.json`)
  const references = [...JSON.stringify(document.components.schemas['Start.pruner']).matchAll(/"\$ref":"([^"]+)"/g)]
  expect(references).not.toEqual([])
  for (const [, reference] of references) {
    let found: unknown = document
    for (const part of reference!.slice(2).split('/')) found = (found as Record<string, unknown> | undefined)?.[part]
    expect(found, reference).toBeDefined()
  }
})
