import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { type AgentStream, createEvent, type RunContext } from '../../src/core/ports/component.ts'
import { checkedEnd, numbersIn, standingTexts } from '../support/checker.ts'
import { call, followRun, readEvents, readLog, startRun } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { thrown } from './unserializable/hostile-agents.ts'

const module = join(import.meta.dirname, 'unserializable/hostile-agents.ts')

/** What the lab can emit that has no place in a log: how its failure names it. */
const refused: Readonly<Record<string, { event: string; path: string }>> = {
  circular: { event: 'custom.emitted', path: 'data.value.value' },
  function: { event: 'custom.emitted', path: 'data.value.value' },
  getter: { event: 'custom.emitted', path: 'data.value.value' },
  'deep 10000': { event: 'custom.emitted', path: `data${'.value'.repeat(200)}` },
  'big 5000': { event: 'text.delta', path: 'data.text' },
}

test('[EVT-1] an unserializable value fails its own run, with its event and path, while others continue', async () => {
  const server = await startServer({ store: temporaryDatabase() })
  const bystanders = await Promise.all([1, 2, 3].map(() => startRun(server, 'text 100 every 5; step work; text 20')))
  const watched = bystanders.map(({ id }) => followRun(server, id))

  for (const [statement, { event, path }] of Object.entries(refused)) {
    const code = statement.startsWith('big') ? 'output_too_large' : 'unserializable'
    const { id } = await startRun(server, `text 3; ${statement}; text 3`)
    const stream = followRun(server, id)
    expect(await stream.ended).toBe('closed')
    const records = checkedEnd(id, stream.log)
    expect(records.map(({ type }) => type)).toEqual([
      'run.created',
      'run.started',
      ...Array<string>(3).fill('text.delta'),
      'run.failed',
    ])
    const { error } = records.at(-1)!.data as {
      error: { code: string; message: string; details: { event: string; path: string } }
    }
    expect(error.code).toBe(code)
    expect(error.details.event).toBe(event)
    expect(error.details.path).toBe(path)
    expect(error.message).toContain(event)
    expect(error.message).toContain(error.details.path)
    const logged = await until(`the server logs the failure of ${id}`, () =>
      logLines(server.stderr).find((line) => line['run'] === id),
    )
    expect(logged).toMatchObject({
      component: 'lab',
      code,
      details: { event, path: error.details.path },
    })
  }

  for (const [place, stream] of watched.entries()) {
    expect(await stream.ended).toBe('closed')
    const records = checkedEnd(bystanders[place]!.id, stream.log)
    expect(records.at(-1)!.type).toBe('run.completed')
    expect(numbersIn(standingTexts(records))).toEqual(Array.from({ length: 120 }, (_, number) => number))
  }
  expect(await call(server, 'GET', '/health')).toMatchObject({ status: 200 })
})

describe('[EVT-1] wherever the value is, the failure names its event and path:', () => {
  const loop: { self?: unknown } = {}
  loop.self = loop

  const cases: Readonly<Record<string, { run: (context: RunContext) => AgentStream; event: string; path: string }>> = {
    'the result of a step': {
      run: async function* (context) {
        await context.step('work', () => ({ rows: [1, { when: () => 0 }] }))
      },
      event: 'step.completed',
      path: 'data.output.rows[1].when',
    },
    'the input of a tool': {
      run: async function* (context) {
        await context.tool({ name: 'search', input: loop }, () => 'found')
      },
      event: 'tool.called',
      path: 'data.input.self',
    },
    'the result of a tool': {
      run: async function* (context) {
        await context.tool({ name: 'search', input: 1 }, () => new Map([['a key', new WeakMap()]]))
      },
      event: 'tool.completed',
      path: 'data.output["a key"]',
    },
    'what the agent returns': {
      run: async function* () {
        yield 'fine so far'
        return { answer: Symbol('none') }
      },
      event: 'run.completed',
      path: 'data.output.answer',
    },
    'an item of a list': {
      run: async function* () {
        yield createEvent('custom.emitted', { name: 'list', value: [1, [2, { later: Promise.resolve() }]] })
      },
      event: 'custom.emitted',
      path: 'data.value[1][1].later',
    },
  }

  test.each(Object.entries(cases))('%s', async (_where, { run, event, path }) => {
    const server = await serveInProcess({
      components: [agent({ id: 'subject', run: (_input, context) => run(context) })],
    })
    const { id } = await startRun(server, '', { component: 'subject' })
    const last = (await readEvents(server, id)).at(-1)!
    expect(last).toMatchObject({
      type: 'run.failed',
      data: { error: { code: 'unserializable', details: { event, path } } },
    })
  })
})

describe.each(['thrower', 'stepper'])('an agent of kind %s', (component) => {
  test('[EVT-1] an agent that throws a value that cannot be inspected fails its own run and no other', async () => {
    const server = await startServer({ store: temporaryDatabase(), command: ['serve', module] })
    const bystander = await startRun(server, '', { component: 'bystander' })
    for (const kind of Object.keys(thrown)) {
      const { id } = await startRun(server, kind, { component })
      const { error } = (await readEvents(server, id)).at(-1)!.data as { error: { code: string; message: unknown } }
      expect(error, kind).toMatchObject({ code: 'agent_failed', message: expect.any(String) as string })
    }
    const records = checkedEnd(bystander.id, await readLog(server, bystander.id))
    expect(numbersIn(standingTexts(records))).toHaveLength(200)
    expect(records.at(-1)!.type).toBe('run.completed')
  })
})

/** The lines of a server's log that it wrote as JSON. */
function logLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .flatMap((line) =>
      line.startsWith('{') && line.endsWith('}') ? [JSON.parse(line) as Record<string, unknown>] : [],
    )
}
