/** Components whose logs are recorded, and which the golden servers serve: AgentOS shows their names and kinds. */
import { agent } from '../../src/agents/agent.ts'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { parallel, step, workflow } from '../../src/agents/workflow/index.ts'
import { type Component, createEvent } from '../../src/core/ports/component.ts'
import { clerk, gated, nameless, newsroom, publish } from '../protocols/agentos/components.ts'
import { forecaster } from '../protocols/openai/components.ts'
import { aborted } from '../support/node.ts'

/** Discards the output of a failed stage, also that of a component that it called. */
const fickle = agent<unknown>({
  id: 'fickle',
  async *run(_input, context) {
    yield 'kept '
    for (let attempt = 1; attempt <= 2; attempt++) {
      await context
        .stage('draft', async function* () {
          yield `draft ${attempt} `
          await context.call(scribe, attempt)
          yield 'signed'
          if (attempt === 1) throw new Error('again')
        })
        .catch(() => {})
    }
  },
})

/** The same text twice, so that a client that got it once gets nothing again. */
const steady = agent<unknown>({
  id: 'steady',
  async *run(_input, context) {
    yield 'kept '
    for (let attempt = 1; attempt <= 2; attempt++) {
      await context
        .stage('draft', async function* () {
          yield 'the same draft'
          if (attempt === 1) throw new Error('again')
        })
        .catch(() => {})
    }
    yield ', and more'
  },
})

const scribe = agent<unknown>({
  id: 'scribe',
  name: 'The scribe',
  async *run(input) {
    yield createEvent('text.started', { message: 'm1' })
    yield createEvent('text.delta', { message: 'm1', text: `page ${String(input)} ` })
    yield createEvent('text.completed', { message: 'm1' })
    yield createEvent('artifact.added', {
      artifact: 'page',
      mediaType: 'text/plain',
      text: `page ${String(input)}`,
      last: true,
    })
    return `written ${String(input)}`
  },
})

const talking = (id: string, failures: number): Component => {
  let left = failures
  return agent<unknown>({
    id,
    async *run() {
      yield `${id} says `
      if (left-- > 0) throw new Error('not yet')
      yield 'enough'
      return id
    },
  })
}

/** Branches whose names are prefixes of each other; the shorter one fails once. */
const prefixes = workflow({
  id: 'prefixes',
  steps: [
    parallel({
      name: 'both',
      branches: [
        step({ name: 'facts', run: talking('facts', 1), retries: 1, retryDelayMs: 1, input: () => null }),
        step({ name: 'facts-more', run: talking('facts-more', 0), input: () => null }),
      ],
    }),
  ],
})

/** Every kind of content that an agent can emit. */
const everything = agent<unknown>({
  id: 'everything',
  name: 'Everything',
  async *run(_input, { tool }) {
    yield createEvent('custom.emitted', { name: 'a2a.status', value: 'looking' })
    yield createEvent('reasoning.started', { message: 'r1' })
    yield createEvent('reasoning.delta', { message: 'r1', text: 'first, ' })
    yield createEvent('reasoning.delta', { message: 'r1', text: 'then' })
    yield createEvent('reasoning.completed', { message: 'r1' })
    yield createEvent('model.requested', { request: 'q1', model: 'scripted', provider: 'nobody' })
    yield createEvent('text.started', { message: 'm1' })
    yield createEvent('text.delta', { message: 'm1', text: 'Grüße,\n' })
    yield createEvent('text.delta', { message: 'm1', text: '' })
    yield createEvent('text.completed', { message: 'm1' })
    yield createEvent('tool.drafted', { call: 'c1', name: 'search', delta: '{"q"' })
    yield createEvent('tool.called', { call: 'c1', name: 'search', input: { q: 'sea' } })
    yield createEvent('tool.progressed', { call: 'c1', output: { found: 1 } })
    yield createEvent('tool.completed', { call: 'c1', name: 'search', output: { hits: ['a', 'b'] } })
    await tool({ name: 'recorded', input: { of: 'the ledger' } }, () => 'done')
    yield createEvent('tool.called', { call: 'c2', name: 'broken', input: {} })
    yield createEvent('tool.failed', {
      call: 'c2',
      name: 'broken',
      error: { code: 'tool_failed', message: 'it broke' },
    })
    yield createEvent('model.responded', {
      request: 'q1',
      model: 'scripted',
      finish: 'length',
      usage: { inputTokens: 3, outputTokens: 5, totalTokens: 8, reasoningTokens: 2, cachedInputTokens: 1 },
    })
    yield createEvent('source.cited', { source: 's1', url: 'https://example.com/a', title: 'A' })
    yield createEvent('artifact.added', { artifact: 'note', mediaType: 'text/plain', text: 'one ', name: 'note.txt' })
    yield createEvent('artifact.added', {
      artifact: 'note',
      mediaType: 'text/plain',
      text: 'two',
      append: true,
      last: true,
    })
    yield createEvent('artifact.added', { artifact: 'photo', mediaType: 'image/png', url: 'https://example.com/p.png' })
    yield createEvent('artifact.added', { artifact: 'table', mediaType: 'application/json', value: { rows: 2 } })
    yield createEvent('state.replaced', { state: { step: 1 } })
    yield createEvent('state.patched', { patch: [{ op: 'replace', path: '/step', value: 2 }] })
    yield createEvent('reasoning.delta', { text: 'left open' })
    yield createEvent('text.delta', { text: 'Bye.' })
  },
})

/** An object as its output, which was not streamed. */
const structured = agent<unknown>({
  id: 'structured',
  // oxlint-disable-next-line require-yield -- its answer is what it returns
  async *run() {
    return { name: 'Ada', born: 1815, tags: ['first', 'programmer'] }
  },
})

/** Retries after a crash: its earlier output is retracted. */
const retrying = agent<unknown>({
  id: 'retrying',
  recovery: 'retry',
  async *run(_input, { attempt, signal }) {
    yield 'once '
    yield `upon attempt ${attempt} `
    if (attempt === 1) await aborted(signal)
    yield 'the end'
  },
})

/** Calls a member that hangs until the run is stopped. */
const hanging = agent<unknown>({
  id: 'hanging',
  async *run(_input, { call }) {
    yield 'waiting '
    await call(
      agent<unknown>({
        id: 'hung',
        async *run(_nothing, { signal }) {
          yield 'still '
          await aborted(signal)
        },
      }),
      null,
    )
  },
})

/** Asks for a credential, which keeps A2A streams open. */
const notary = agent<unknown>({
  id: 'notary',
  async *run(_input, context) {
    const answer = await context.ask({ prompt: 'Sign in first', details: { a2a: { state: 'auth-required' } } })
    yield `signed by ${String(answer)}`
  },
})

/** Answers A2A without a task. */
const parrot = agent<unknown>({
  id: 'parrot',
  async *run() {
    yield createEvent('custom.emitted', { name: 'a2a.message', value: 'hello' })
  },
})

export function goldenComponents(): Component[] {
  return [
    ...labComponents(),
    clerk,
    gated,
    nameless,
    newsroom,
    publish,
    forecaster,
    fickle,
    steady,
    scribe,
    prefixes,
    everything,
    structured,
    retrying,
    hanging,
    notary,
    parrot,
  ]
}
