/** The agent for the official compatibility kit (a2aproject/a2a-tck): the prefix of a message's id selects its behaviour. */
import type { Component, Emission, RunContext } from '../../../src/core/ports/component.ts'
import { createEvent } from '../../../src/core/ports/component.ts'
import { agent } from '../../../src/agents/agent.ts'
import type { A2aOptions } from '../../../src/protocols/a2a/index.ts'

interface SentMessage {
  readonly messageId: string
}

const file = { artifact: 'file', name: 'output.txt', mediaType: 'text/plain', last: true }

/** Twice as long as the kit waits for a stream. */
const LINGER_MS = 4_500

type Behaviour = (context: RunContext) => AsyncGenerator<Emission, unknown, void>

/** The first behaviour whose name is a prefix of the id; longer names come first. */
const behaviours: readonly (readonly [string, Behaviour])[] = [
  ['tck-artifact-file-url', say(createEvent('artifact.added', { ...file, url: 'https://example.com/output.txt' }))],
  ['tck-artifact-file', say(createEvent('artifact.added', { ...file, bytes: Buffer.from('file content') }))],
  ['tck-artifact-text', say('Generated text content')],
  [
    'tck-artifact-data',
    say(
      createEvent('artifact.added', {
        artifact: 'data',
        mediaType: 'application/json',
        value: { key: 'value', count: 42 },
      }),
    ),
  ],
  [
    'tck-message-response',
    say(createEvent('custom.emitted', { name: 'a2a.message', value: 'Direct message response' })),
  ],
  ['tck-input-required', ask],
  ['tck-reject-task', reject],
  ['tck-stream-001', say('Stream hello from TCK')],
  ['tck-stream-002', say()],
  ['tck-stream-003', say('Stream task lifecycle')],
  ['tck-stream-ordering-001', say('Ordered output')],
  ['tck-stream-artifact-text', say('Streamed text content')],
  ['tck-stream-artifact-file', say(createEvent('artifact.added', { ...file, bytes: Buffer.from('file content') }))],
  ['tck-stream-artifact-chunked', chunks],
  ['test-resubscribe-message-id', linger],
]

/** For the kit of 1.0. */
export const tckAgent = agentThat('tck', say('Hello from TCK'))

/** For the 0.3 kit, which continues tasks that it started. */
export const legacyTckAgent = agentThat('tck-legacy', askOn)

function agentThat(id: string, otherwise: Behaviour): Component {
  return agent<unknown>({
    id,
    name: 'TCK agent',
    description: 'Does what the compatibility kit asks for.',
    async *run(_input, context) {
      const { message } = context.metadata['a2a'] as { message: SentMessage }
      return yield* behaviourOf(message, otherwise)(context)
    },
  })
}

/**
 * The kit asks for the statuses of 1.0.0, and takes no card that says anything to clients of 0.3.
 */
export const tckOptions: A2aOptions = {
  defaultComponent: 'tck',
  unversionedCard: '1.0',
  errorTable: '1.0.0',
  agents: { tck: { answersDirectly: true } },
}

function behaviourOf({ messageId }: SentMessage, otherwise: Behaviour = say('Hello from TCK')): Behaviour {
  return behaviours.find(([name]) => messageId.startsWith(name))?.[1] ?? otherwise
}

function say(...emissions: readonly Emission[]): Behaviour {
  return async function* () {
    yield* emissions
    return undefined
  }
}

async function* chunks(): AsyncGenerator<Emission, unknown, void> {
  const chunk = { artifact: 'chunked', mediaType: 'text/plain' }
  yield createEvent('artifact.added', { ...chunk, text: 'chunk-1 ' })
  yield createEvent('artifact.added', { ...chunk, text: 'chunk-2', append: true, last: true })
  return undefined
}

/** The answer's id selects the next behaviour, so it may ask again. */
async function* ask(context: RunContext, otherwise?: Behaviour): AsyncGenerator<Emission, unknown, void> {
  const answer = await context.ask({ prompt: 'More input, please', details: { a2a: { answer: 'message' } } })
  return yield* behaviourOf(answer as SentMessage, otherwise)(context)
}

function askOn(context: RunContext): AsyncGenerator<Emission, unknown, void> {
  return ask(context, askOn)
}

// oxlint-disable-next-line require-yield -- it is refused before it says anything
async function* reject(context: RunContext): AsyncGenerator<Emission, unknown, void> {
  context.reject('rejected')
}

async function* linger(context: RunContext): AsyncGenerator<Emission, unknown, void> {
  yield createEvent('custom.emitted', { name: 'a2a.status', value: 'working' })
  await context.sleep(LINGER_MS)
  return undefined
}
