/** Schemas of inputs, outputs and answers, with common schema libraries. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/agents/agent.ts'
import { scriptedModel } from '../../src/agents/model/scripted/scripted.ts'
import { modelAgent } from '../../src/agents/model/agent.ts'
import { step, workflow } from '../../src/agents/workflow/index.ts'
import type { Component } from '../../src/core/ports/component.ts'
import type { StandardSchema } from '../../src/core/ports/schema.ts'
import { isHoldfastError } from '../../src/core/model/errors.ts'
import { jsonSchemaOf } from '../../src/core/schema/json-schema.ts'
import { redactions } from '../../src/core/redaction/redactions.ts'
import { Registry } from '../../src/core/registry.ts'
import { openNode, textOf } from '../support/node.ts'
import { World } from '../support/world.ts'

interface Trip {
  city: string
  days: number
}

const libraries: readonly (readonly [string, StandardSchema<Trip>])[] = [
  ['zod', z.object({ city: z.string(), days: z.number().min(1) })],
  ['valibot', toStandardJsonSchema(v.object({ city: v.string(), days: v.pipe(v.number(), v.minValue(1)) }))],
  ['arktype', type({ city: 'string', days: 'number >= 1' })],
]

describe.each(libraries)('a schema of %s', (_, schema) => {
  const planner = agent({
    id: 'planner',
    input: schema,
    async *run({ city, days }) {
      expectTypeOf(days).toBeNumber()
      yield `${days} days in ${city}`
    },
  })

  test('types and validates the input, and says where it is wrong', async () => {
    const node = openNode({ components: [planner] })
    const id = await node.start('planner', { city: 'Oslo', days: 3 })
    expect(textOf(await node.ended(id))).toBe('3 days in Oslo')
    const refusal = await node.start('planner', { city: 'Oslo', days: '3' }).catch((thrown: unknown) => thrown)
    expect(refusal).toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/^the input does not match the schema of planner: days: /),
      details: { issues: [{ path: 'days', message: expect.any(String) }] },
    })
  })

  test('is published as JSON Schema', () => {
    expect(jsonSchemaOf(planner.input!, 'input')).toMatchObject({
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'number', minimum: 1 } },
      required: ['city', 'days'],
    })
  })
})

describe('an input schema', () => {
  const byDate = agent({
    id: 'subject',
    recovery: 'resume',
    input: z.object({ from: z.iso.date().transform((text) => new Date(text)), days: z.number().default(7) }),
    async *run({ from, days }, { ask }) {
      expectTypeOf(from).toEqualTypeOf<Date>()
      yield `${from.toISOString()} ${days}\n`
      await ask('Go on?')
      yield `${from.getTime()}`
    },
  })

  test('a transformed value is the same after a crash, and the log has the input as it was sent', async () => {
    const world = new World(byDate)
    const first = world.worker()
    const id = await first.start('subject', { from: '2026-11-17' })
    await first.reached(id, 'paused')
    world.kill()
    const second = world.worker()
    await second.answer(id, { question: 'yes' })
    const log = await second.ended(id)
    expect(log[0]!.data).toMatchObject({ input: { from: '2026-11-17' } })
    expect(textOf(log)).toBe(`2026-11-17T00:00:00.000Z 7\n${Date.UTC(2026, 10, 17)}`)
    expect(log.filter((event) => event.type === 'attempt.discarded')).toEqual([])
  })

  test('what JSON Schema cannot express is described as any value', () => {
    expect(jsonSchemaOf(z.object({ at: z.coerce.date() }), 'input')).toMatchObject({ properties: { at: {} } })
  })

  test('may be asynchronous, and has to finish in time', async () => {
    const known = z.string().refine(async (name) => name !== 'nobody', 'is nobody')
    const hangs = z.string().refine(() => new Promise<boolean>(() => {}))
    const greeter = agent({ id: 'greeter', input: known, async *run(name) { yield name } }) // prettier-ignore
    const node = openNode({ components: [greeter] })
    await expect(node.start('greeter', 'nobody')).rejects.toThrow(
      'the input does not match the schema of greeter: is nobody',
    )
    const late = openNode({
      components: [agent({ id: 'late', input: hangs, async *run() {} })],
      clock: { now: () => Date.now(), startTimer: (act, ms) => (ms === 10_000 && act(), () => {}) },
    })
    await expect(late.start('late', 'x')).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('lists at most twenty issues', async () => {
    const node = openNode({ components: [agent({ id: 'a', input: z.array(z.string()), async *run() {} })] })
    const refusal = await node
      .start(
        'a',
        Array.from({ length: 5000 }, () => 1),
      )
      .catch((thrown: unknown) => thrown)
    expect((refusal as { details: { issues: unknown[] } }).details.issues).toHaveLength(20)
  })

  test('an input that fits only before redaction is refused at the start', async () => {
    const mailer = agent({ id: 'mailer', input: z.object({ to: z.email() }), async *run() {} })
    const redact = { patterns: [redactions.emails] }
    const node = openNode({ components: [{ ...mailer, redact }] })
    await expect(node.start('mailer', { to: 'ada@example.org' })).rejects.toThrow('mailer once it is redacted: to: ')
  })

  test('a component that is called with a wrong input fails with invalid_input, which its caller can catch', async () => {
    const inner = agent({ id: 'inner', input: z.object({ n: z.number() }), async *run() {} })
    const outer: Component = agent<unknown>({
      id: 'outer',
      async *run(_, { call }) {
        yield await call(inner, { n: 'x' } as never).then(String, ({ code, message }: Error & { code: string }) => `${code}: ${message}`)
      },
    }) // prettier-ignore
    const node = openNode({ components: [outer] })
    expect(textOf(await node.ended(await node.start('outer')))).toMatch(
      /^invalid_input: the input does not match the schema of inner: n: /,
    )
  })

  test('a workflow has that of its first step, which parses the input itself', async () => {
    const first = agent({ id: 'first', input: z.string().transform(Number), async *run(n) { return n + 1 } }) // prettier-ignore
    const flow = workflow({ id: 'flow', steps: [first, step({ name: 'double', run: (n: number) => n * 2 })] })
    const node = openNode({ components: [flow] })
    await expect(node.start('flow', 5)).rejects.toMatchObject({ code: 'invalid_request' })
    const log = await node.ended(await node.start('flow', '20'))
    expect(log.at(-1)).toMatchObject({ type: 'run.completed', data: { output: 42 } })
  })

  test('a model agent may have any schema: the model gets the value as JSON', async () => {
    const model = scriptedModel({ script: ({ text }) => `got ${text}` })
    const node = openNode({ components: [modelAgent({ id: 'm', model, input: z.object({ city: z.string() }) })] })
    await expect(node.start('m', 'Oslo')).rejects.toMatchObject({ code: 'invalid_request' })
    const log = await node.ended(await node.start('m', { city: 'Oslo' }))
    expect(log.at(-1)).toMatchObject({ data: { output: 'got {"city":"Oslo"}' } })
  })

  test('a schema without JSON Schema is refused when the component is defined, with what to do', () => {
    const plain = v.object({ city: v.string() })
    expect(() => agent({ id: 'a', input: plain, async *run() {} })).toThrow(
      'agent a: input: valibot schemas do not provide a JSON Schema here: wrap it with toStandardJsonSchema of @valibot/to-json-schema, or pass { schema, jsonSchema }',
    )
    const given = { schema: plain, jsonSchema: { type: 'object' } }
    expect(jsonSchemaOf(agent({ id: 'a', input: given, async *run() {} }).input!, 'input')).toBe(given.jsonSchema)
    expect(() => agent({ id: 'a', input: { type: 'object' } as never, async *run() {} })).toThrow(
      'agent a: input: must be a Standard Schema',
    )
    expect(() => new Registry([{ id: 'a', kind: 'agent', input: plain, async *run() {} }])).toThrow(
      'agent a: input: valibot schemas do not provide a JSON Schema',
    )
  })
})

describe('an output schema', () => {
  const rating = z.object({ stars: z.number().max(5), note: z.string().default('none') })

  function rated(output: unknown): Component {
    return agent<unknown>({ id: 'rated', output: rating, async *run() { return output } }) // prettier-ignore
  }

  test('the log has what the schema returns', async () => {
    const node = openNode({ components: [rated({ stars: 4, other: true })] })
    const log = await node.ended(await node.start('rated'))
    expect(log.at(-1)).toMatchObject({ type: 'run.completed' })
    expect((log.at(-1)!.data as { output: unknown }).output).toEqual({ stars: 4, note: 'none' })
  })

  test.each(['returned', 'emitted'])(
    'an output that does not match the schema and is %s fails the run, and names the path',
    async (how) => {
      const emits = agent({ id: 'rated', output: rating, async *run() { yield { type: 'run.completed', data: { output: { stars: 9 } } } as const } }) // prettier-ignore
      const node = openNode({ components: [how === 'emitted' ? emits : rated({ stars: 9 })] })
      const log = await node.ended(await node.start('rated', 'x'))
      expect(log.at(-1)).toMatchObject({
        type: 'run.failed',
        data: { error: { code: 'invalid_output', details: { issues: [{ path: 'stars' }] } } },
      })
    },
  )

  test('types and validates the result of a call', async () => {
    const inner = agent({ id: 'inner', output: rating, async *run() { return { stars: 9 } } }) // prettier-ignore
    const outer = agent({
      id: 'outer',
      async *run(_, { call }) {
        const result = await call(inner, 'x').catch(({ code }: { code: string }) => code)
        if (typeof result !== 'string') expectTypeOf(result.stars).toBeNumber()
        yield JSON.stringify(result)
      },
    })
    const node = openNode({ components: [outer] })
    expect(textOf(await node.ended(await node.start('outer', 'x')))).toBe('"invalid_output"')
  })
})

describe('a question with a schema', () => {
  const amount = z.object({ amount: z.number().refine((n) => n % 2 === 0, 'must be even') })
  const asks = agent({
    id: 'subject',
    recovery: 'resume',
    async *run(_, { ask }) {
      const answer = await ask({ prompt: 'How much?', schema: amount })
      expectTypeOf(answer.amount).toBeNumber()
      yield `pay ${answer.amount}`
    },
  })

  test('refuses an answer that its JSON Schema excludes, and names the path', async () => {
    const node = openNode({ components: [asks] })
    const id = await node.start('subject', 'x')
    const { run } = await node.reached(id, 'paused')
    expect(run.waiting).toMatchObject([{ schema: { properties: { amount: { type: 'number' } } } }])
    const refusal = await node.answer(id, { question: { amount: '4' } }).catch((thrown: unknown) => thrown)
    expect(isHoldfastError(refusal, 'invalid_request')).toBe(true)
    expect(refusal).toMatchObject({
      message: 'the answer to question: amount must be a number',
      details: { issues: [{ path: 'amount', message: 'must be a number' }] },
    })
    await node.answer(id, { question: { amount: 4 } })
    expect(textOf(await node.ended(id))).toBe('pay 4')
  })

  test('a question is asked again if the schema, but not its JSON Schema, rejects the answer, also across a crash', async () => {
    const world = new World(asks)
    const first = world.worker()
    const id = await first.start('subject', 'x')
    await first.reached(id, 'paused')
    await first.answer(id, { question: { amount: 3 } })
    const again = await first.reached(id, 'paused')
    expect(again.run.waiting).toMatchObject([{ prompt: 'How much?\n\nThe answer did not fit: amount: must be even' }])
    world.kill()
    const second = world.worker()
    await second.answer(id, { [again.run.waiting![0]!.id]: { amount: 4 } })
    expect(textOf(await second.ended(id))).toBe('pay 4')
  })
})
