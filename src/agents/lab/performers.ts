/** Implements each statement of a lab script. Deterministic: a script always emits the same events. */
import { type Emission, createEvent, WorkError } from '../../core/ports/component.ts'
import type { Event } from '../../core/model/event.ts'
import type { Stage } from './stage.ts'
import type { Statement, StatementName } from './statements.ts'
import { awkwardValues, filler, nested } from './values.ts'

type Emissions = Iterable<Emission> | AsyncIterable<Emission>

type Performer<Name extends StatementName> = (
  statement: Statement<Name>,
  stage: Stage,
) => Emissions | void | Promise<Emissions | void>

export function perform<Name extends StatementName>(
  statement: Statement<Name>,
  stage: Stage,
): ReturnType<Performer<Name>> {
  return performers[statement.type](statement, stage)
}

const performers: { readonly [Name in StatementName]: Performer<Name> } = {
  text: (statement, stage) => deltas(statement, stage, 'text', (text) => text),
  say: ({ text }) => [text],
  big: ({ kib }) => [filler(kib)],
  reason: (statement, stage) =>
    deltas(statement, stage, 'reasoning', (text) => createEvent('reasoning.delta', { text })),
  artifact: ({ name, kib }) => chunks(name, kib),
  state: ({ name }, stage) => [stateChange(name, stage.number('state'))],
  usage: (statement, stage) => modelCall(statement, stage.number('request')),
  custom: ({ name }, stage) => [createEvent('custom.emitted', { name, value: { number: stage.number('custom') } })],

  async step({ name, ms }, stage) {
    const number = stage.number('step')
    await stage.context.step(name, async (signal) => {
      if (ms !== undefined) await stage.work(ms, signal)
      return { step: name, number }
    })
  },
  tool: callTool,
  async ask({ question }, stage) {
    return [createEvent('custom.emitted', { name: 'answer', value: await stage.context.ask(question) })]
  },
  sleep: ({ ms }, stage) => stage.wait(ms),
  hang: (_, stage) => stage.hang(),
  'ignore-abort': (_, stage) => stage.ignoreAbort(),

  date: awkward,
  bytes: awkward,
  bigint: awkward,
  nan: awkward,
  deep: ({ depth }) => [createEvent('custom.emitted', { name: 'deep', value: nested(depth) })],
  circular: awkward,
  function: awkward,
  getter: awkward,
  bogus: () => [{ type: 'lab.bogus', data: {} } as unknown as Event],

  complete: ({ text }) => [createEvent('run.completed', text === undefined ? {} : { output: text })],
  fail: ({ message }) => [createEvent('run.failed', { error: { code: 'agent_failed', message } })],
  reject: ({ message }, stage) => stage.context.reject(message),
  throw({ message }) {
    throw new Error(message)
  },
  'throw-string'({ message = 'a string that was thrown' }) {
    throw message
  },
  die({ attempts = Number.POSITIVE_INFINITY }, stage) {
    if (stage.context.attempt <= attempts) process.kill(process.pid, 'SIGKILL')
  },
}

const WORDS = ['kelp', 'tide', 'anchor', 'current', 'harbour', 'rope', 'swell', 'stone'] as const

async function* deltas(
  { count, everyMs }: Statement<'text' | 'reason'>,
  stage: Stage,
  kind: string,
  toEmission: (text: string) => Emission,
): AsyncGenerator<Emission> {
  for (let emitted = 0; emitted < count; emitted++) {
    const number = stage.number(kind)
    yield toEmission(`[${number}] ${WORDS[number % WORDS.length]} `)
    if (everyMs !== undefined) await stage.wait(everyMs)
    await stage.yieldToEventLoop()
  }
}

const CHUNK_KIB = 64

function* chunks(name: string, kib: number): Generator<Event> {
  const count = Math.max(1, Math.ceil(kib / CHUNK_KIB))
  for (let chunk = 0; chunk < count; chunk++) {
    const text = filler(Math.min(CHUNK_KIB, kib - chunk * CHUNK_KIB))
    const chunking = { append: chunk > 0, last: chunk === count - 1 }
    yield createEvent('artifact.added', { artifact: name, name, mediaType: 'text/plain', text, ...chunking })
  }
}

function stateChange(name: string, number: number): Event {
  if (number === 0) return createEvent('state.replaced', { state: { [name]: number } })
  const path = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return createEvent('state.patched', { patch: [{ op: 'add', path, value: number }] })
}

function modelCall({ inputTokens, outputTokens }: Statement<'usage'>, number: number): Event[] {
  const call = { request: `request-${number}`, model: 'lab' }
  const usage = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
  return [createEvent('model.requested', call), createEvent('model.responded', { ...call, finish: 'stop', usage })]
}

async function callTool({ name, fail, idempotent, ms }: Statement<'tool'>, stage: Stage): Promise<void> {
  const number = stage.number('tool')
  const failure = new Error(`tool ${name} failed, as the script asks`)
  const call = { name, input: { number }, ...(idempotent && { idempotent }) }
  try {
    await stage.context.tool(call, async ({ signal }) => {
      if (ms !== undefined) await stage.work(ms, signal)
      if (fail) throw failure
      return { tool: name, number }
    })
  } catch (thrown) {
    // Only the requested failure, from this or an earlier attempt: an abort must propagate.
    const isIntended = fail && (thrown === failure || thrown instanceof WorkError)
    if (!isIntended) throw thrown
  }
}

function awkward({ type }: { readonly type: keyof typeof awkwardValues }): Event[] {
  return [createEvent('custom.emitted', { name: type, value: awkwardValues[type]() })]
}
