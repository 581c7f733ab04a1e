import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { settle } from '../../../test/support/manual-clock.ts'
import { type Emission, WorkError, RejectedError, type RunContext } from '../../core/ports/component.ts'
import { HoldfastError, messageOf } from '../../core/model/errors.ts'
import type { Event } from '../../core/model/event.ts'
import { encodeBody } from '../../core/model/record.ts'
import { UnserializableError } from '../../core/model/serialize.ts'
import { validate } from '../../core/schema/validate.ts'
import { labAgent } from './agent.ts'
import { labComponents } from './kinds.ts'

const HOUR = 3_600_000
const BOUNDS = { maxDepth: 200, maxBytes: 4 * 1024 * 1024 }

interface Circumstances {
  readonly signal?: AbortSignal
  readonly attempt?: number
  readonly replaying?: boolean
  readonly answer?: unknown
  /** Recorded result of a tool or a step, in place of its work. */
  readonly recorded?: () => Promise<never>
}

/** Observed behaviour of a run: yielded events and calls of its context. */
class Seen {
  readonly events: unknown[] = []
  readonly context: RunContext

  constructor({
    signal = new AbortController().signal,
    attempt = 1,
    replaying = false,
    answer,
    recorded,
  }: Circumstances) {
    const work = async <Result>(name: string, act: () => Promise<Result> | Result): Promise<Result> => {
      this.events.push({ type: `${name} began` })
      try {
        const result = await (recorded ?? act)()
        this.events.push({ type: `${name} ended`, result })
        return result
      } catch (thrown) {
        this.events.push({ type: `${name} failed`, message: messageOf(thrown) })
        throw thrown
      }
    }
    this.context = {
      runId: 'run_lab',
      sessionId: 'ses_lab',
      owner: 'local',
      metadata: {},
      attempt,
      replaying,
      signal,
      step: (name, act) => work(`step ${name}`, () => act(signal)),
      tool: (call, act) =>
        work(`tool ${JSON.stringify(call)}`, () => act({ key: 'key', signal, progress: async () => {} })),
      stage: () => Promise.reject(new Error('the lab has no stage')),
      call: () => Promise.reject(new Error('the lab calls nobody')),
      within: () => this.context,
      history: async () => [],
      sleep: () => Promise.reject(new Error('the lab waits by itself')),
      sleepUntil: () => Promise.reject(new Error('the lab waits by itself')),
      async ask(question: unknown) {
        return { question, answer }
      },
      reject(reason) {
        throw new RejectedError(reason)
      },
    }
  }

  async perform(script: string): Promise<this> {
    for await (const emission of labAgent().run(script, this.context)) this.events.push(toEvent(emission))
    return this
  }
}

function toEvent(emission: Emission): Event {
  return typeof emission === 'string' ? { type: 'text.delta', data: { text: emission } } : emission
}

async function performed(script: string, circumstances: Circumstances = {}): Promise<unknown[]> {
  return (await new Seen(circumstances).perform(script)).events
}

async function texts(script: string, circumstances: Circumstances = {}): Promise<string[]> {
  return (await performed(script, circumstances)).map((event) => (event as { data: { text: string } }).data.text)
}

function chunk(kib: number, place: { append: boolean; last: boolean }): unknown {
  const text = 'holdfast'.repeat(128 * kib)
  return { type: 'artifact.added', data: { artifact: 'log', name: 'log', mediaType: 'text/plain', text, ...place } }
}

async function failureOnRecord(): Promise<never> {
  throw new WorkError({ code: 'agent_failed', message: 'on record' })
}

describe('lab: output', () => {
  test('numbers text deltas over the whole script, and reasoning separately', async () => {
    const events = await performed('text 2; reason 1; text 1 every 0; reason 1')
    expect(events).toEqual([
      { type: 'text.delta', data: { text: '[0] kelp ' } },
      { type: 'text.delta', data: { text: '[1] tide ' } },
      { type: 'reasoning.delta', data: { text: '[0] kelp ' } },
      { type: 'text.delta', data: { text: '[2] anchor ' } },
      { type: 'reasoning.delta', data: { text: '[1] tide ' } },
    ])
  })

  test('a thousand deltas carry the numbers 0 to 999', async () => {
    const numbers = (await texts('text 400; text 600')).map((text) => Number(/\[(\d+)\]/.exec(text)?.[1]))
    expect(numbers).toEqual(Array.from({ length: 1000 }, (_, number) => number))
  })

  test('say emits exactly its text, and big emits the requested size', async () => {
    expect(await texts('say "a; b\n\ndata: 🌊"; big 3; big 0')).toEqual([
      'a; b\n\ndata: 🌊',
      'holdfast'.repeat(384),
      '',
    ])
  })

  test('artifact emits chunks of at most 64 KiB with their position', async () => {
    expect(await performed('artifact log 130')).toEqual([
      chunk(64, { append: false, last: false }),
      chunk(64, { append: true, last: false }),
      chunk(2, { append: true, last: true }),
    ])
    expect(await performed('artifact log 64')).toEqual([chunk(64, { append: false, last: true })])
    expect(await performed('artifact log 0')).toEqual([chunk(0, { append: false, last: true })])
  })

  test('state emits a replacement, then patches', async () => {
    expect(await performed('state a; state b/~c')).toEqual([
      { type: 'state.replaced', data: { state: { a: 0 } } },
      { type: 'state.patched', data: { patch: [{ op: 'add', path: '/b~1~0c', value: 1 }] } },
    ])
  })

  test('usage emits a model request and its response', async () => {
    expect(await performed('usage 3 4; usage 0 0')).toMatchObject([
      { type: 'model.requested', data: { request: 'request-0', model: 'lab' } },
      {
        type: 'model.responded',
        data: { request: 'request-0', usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } },
      },
      { type: 'model.requested', data: { request: 'request-1' } },
      { type: 'model.responded', data: { request: 'request-1', usage: { totalTokens: 0 } } },
    ])
  })

  test('custom events carry their name and a number', async () => {
    expect(await performed('custom a; custom b')).toEqual([
      { type: 'custom.emitted', data: { name: 'a', value: { number: 0 } } },
      { type: 'custom.emitted', data: { name: 'b', value: { number: 1 } } },
    ])
  })

  test('lab: `bogus` emits an event of an unknown type', async () => {
    expect(await performed('bogus')).toEqual([{ type: 'lab.bogus', data: {} }])
  })
})

describe('lab: steps, tools and questions', () => {
  test('steps and tools use the run context', async () => {
    expect(await performed('step cook 1; tool search 1; tool pay idempotent')).toEqual([
      { type: 'step cook began' },
      { type: 'step cook ended', result: { step: 'cook', number: 0 } },
      { type: 'tool {"name":"search","input":{"number":0}} began' },
      { type: 'tool {"name":"search","input":{"number":0}} ended', result: { tool: 'search', number: 0 } },
      { type: 'tool {"name":"pay","input":{"number":1},"idempotent":true} began' },
      { type: 'tool {"name":"pay","input":{"number":1},"idempotent":true} ended', result: { tool: 'pay', number: 1 } },
    ])
  })

  test('a failing tool does not end the script, live or recorded', async () => {
    for (const circumstances of [{}, { recorded: failureOnRecord }]) {
      const events = await performed('tool search fail; text 1', circumstances)
      expect(events).toMatchObject([{}, { type: expect.stringContaining('failed') }, { type: 'text.delta' }])
    }
  })

  test('any other failure of a tool ends the script, also if it was expected to fail', async () => {
    const uncertain = new HoldfastError('uncertain_tool', 'it was cut off')
    const recorded = (): Promise<never> => Promise.reject(uncertain)
    for (const script of ['tool search; text 1', 'tool search fail; text 1']) {
      await expect(performed(script, { recorded })).rejects.toBe(uncertain)
    }
  })

  test('the answer to a question is emitted', async () => {
    expect(await performed('ask Shall I go on?', { answer: 'yes' })).toEqual([
      { type: 'custom.emitted', data: { name: 'answer', value: { question: 'Shall I go on?', answer: 'yes' } } },
    ])
  })
})

describe('[EVT-1] lab: values that are hard to serialize', () => {
  test.for([
    ['date', '"2001-02-03T04:05:06.789Z"'],
    ['bytes', JSON.stringify(Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte)).toString('base64'))],
    ['bigint', '"18446744073709551616"'],
    ['nan', '"NaN"'],
    ['deep 2', '{"value":{"value":null}}'],
  ] as const)('%s is encoded', async ([script, encoded]) => {
    const [event] = await performed(script)
    expect(encodeBody(event as Event, BOUNDS)).toContain(
      `{"name":"${script.split(' ')[0]}","value":{"value":${encoded}}}`,
    )
  })

  test.for([
    ['circular', 'data.value.value', 'cycle'],
    ['function', 'data.value.value', 'function'],
    ['getter', 'data.value.value', 'getter'],
    ['deep 10000', 'data.value.value.value', 'nested more than 200'],
    ['big 4096', 'data', 'bytes long'],
  ] as const)('%s is rejected with its path', async ([script, path, problem]) => {
    const [event] = await performed(script)
    const refusal = expect.toSatisfy(
      (thrown) =>
        thrown instanceof UnserializableError && thrown.path.startsWith(path) && thrown.problem.includes(problem),
    )
    expect(() => encodeBody(event as Event, BOUNDS)).toThrow(refusal)
  })
})

describe('lab: outcomes', () => {
  test('a terminal event can be emitted, with output after it', async () => {
    expect(await performed('complete; complete all done; fail no luck; text 1')).toEqual([
      { type: 'run.completed', data: {} },
      { type: 'run.completed', data: { output: 'all done' } },
      { type: 'run.failed', data: { error: { code: 'agent_failed', message: 'no luck' } } },
      { type: 'text.delta', data: { text: '[0] kelp ' } },
    ])
  })

  test('errors, strings and rejections are thrown after the earlier output', async () => {
    const seen = new Seen({})
    await expect(seen.perform('text 2; throw boom; text 2')).rejects.toEqual(new Error('boom'))
    expect(seen.events).toHaveLength(2)
    await expect(performed('throw-string')).rejects.toBe('a string that was thrown')
    await expect(performed('throw-string boom')).rejects.toBe('boom')
    await expect(performed('reject not today')).rejects.toEqual(new RejectedError('not today'))
  })

  test('die kills the process, in the first attempts if they are counted', async () => {
    const agent = new URL('agent.ts', import.meta.url).href
    const code = `import { labAgent } from '${agent}'
      for await (const text of labAgent().run('text 1; die 2; text 1', { attempt: 2 })) console.log(text)`
    const child = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
      encoding: 'utf8',
      timeout: 20_000,
    })
    expect(child).toMatchObject({ signal: 'SIGKILL', stdout: '[0] kelp \n' })
    expect(await texts('text 1; die 2; text 1', { attempt: 3 })).toEqual(['[0] kelp ', '[1] tide '])
  })
})

describe('lab: waiting and abort', () => {
  test.for([
    'hang',
    'sleep 3600000',
    'text 2 every 3600000',
    'reason 2 every 3600000',
    'step s 3600000',
    'tool t 3600000',
    'tool t fail 3600000',
  ])('an abort ends %s with its reason', async (script) => {
    const controller = new AbortController()
    const reason = new Error('stopped')
    const running = performed(script, { signal: controller.signal })
    setImmediate(() => controller.abort(reason))
    await expect(running).rejects.toBe(reason)
  })

  test('an abort ends unpaced output, which yields the event loop now and then', async () => {
    const controller = new AbortController()
    const seen = new Seen({ signal: controller.signal })
    setImmediate(() => controller.abort(new Error('stopped')))
    await expect(seen.perform('text 1000000')).rejects.toThrow('stopped')
    expect(seen.events.length).toBeLessThan(100)
  })

  test('ignore-abort disables aborts for the steps that follow, and hang never ends', async () => {
    const signal = AbortSignal.abort(new Error('stopped'))
    const seen = new Seen({ signal })
    const never = seen.perform('ignore-abort; text 40; text 1 every 1; sleep 1; step s 1; tool t 1; hang')
    while (!seen.events.some((event) => (event as Event).type.startsWith('tool') && 'result' in (event as object))) {
      await Promise.race([never, new Promise((resolve) => setTimeout(resolve, 1))])
    }
    // What would end by the abort, or by itself, has done so once everything that needs no time has happened.
    const later = Symbol('later')
    expect(await Promise.race([never, settle().then(() => later)])).toBe(later)
  })

  test('recorded output is not paced again', async () => {
    expect(await texts(`text 2 every ${HOUR}; sleep ${HOUR}; text 1`, { replaying: true })).toHaveLength(3)
  })
})

test('lab: a script’s output is deterministic', async () => {
  const script = `text 50; reason 20; tool a; tool b fail; step c; ask d; artifact e 100; custom f; state g; state h;
    usage 1 2; say i; big 10; date; bytes; bigint; nan; deep 5; circular; bogus; complete j; fail k`
  expect(await performed(script)).toEqual(await performed(script))
})

test('lab: it is served in every kind and with every recovery policy', async () => {
  expect(labComponents().map(({ id, kind, recovery }) => ({ id, kind, recovery }))).toEqual([
    { id: 'lab', kind: 'agent', recovery: 'fail' },
    { id: 'lab-retry', kind: 'agent', recovery: 'retry' },
    { id: 'lab-resume', kind: 'agent', recovery: 'resume' },
    { id: 'lab-team', kind: 'team', recovery: 'resume' },
    { id: 'lab-workflow', kind: 'workflow', recovery: 'resume' },
  ])
  for (const component of labComponents()) {
    expect(await validate(component.input!, 'text 5')).toEqual({ value: 'text 5' })
    expect((await validate(component.input!, 'txet 5')).issues).toMatchObject([
      { message: expect.stringContaining('character 0') },
    ])
  }
})
