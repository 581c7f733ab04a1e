/** Messages of a session: read once by the client, and live in the state behind `useSession`. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { type AssistantMessage, type Client, createClient, type SessionMessage } from '../../src/client/index.ts'
import { SessionStore } from '../../src/react/session-store.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { serveInProcess } from '../support/in-process.ts'
import { startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { startFaultProxy } from './fault-proxy.ts'

async function serve(): Promise<Client> {
  const server = await serveInProcess({ store: createMemoryStore(), components: labComponents() })
  return createClient({ url: server.url, retryDelayMs: 10, shareConnections: false })
}

const run = async (client: Client, input: string): Promise<void> => {
  await (await client.runs.start({ component: 'lab', input, session: 's1' })).result()
}

function answers(messages: readonly SessionMessage[]): AssistantMessage[] {
  return messages.filter((message) => message.role === 'assistant')
}

/** A page that remembers its session, as long as the test runs. */
function page(client: Client, kept: { id?: string | undefined }): SessionStore {
  const store = new SessionStore(client, {
    read: () => kept.id,
    write: (id) => (kept.id = id),
    watch: () => () => {},
  })
  onTestFinished(store.subscribe(() => {}))
  return store
}

test('sessions.messages: the messages of a session in order, with their texts, tool calls and results', async () => {
  const client = await serve()
  await run(client, 'say one; tool search 1; say two')
  await run(client, 'tool search fail; say three')
  const messages = await client.sessions.messages('s1')
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  expect(messages[0]).toMatchObject({ input: 'say one; tool search 1; say two' })
  const [first, second] = answers(messages)
  expect(first!.parts.map((part) => (part.kind === 'tool' ? `${part.name} ${part.state}` : part.kind))).toEqual([
    'text',
    'search done',
    'text',
  ])
  expect(first!.parts[1]).toMatchObject({ input: { number: 0 }, output: { tool: 'search', number: 0 } })
  expect(first).toMatchObject({ status: 'completed', questions: [], text: expect.stringMatching(/one.*two/) as string })
  expect(second!.parts[0]).toMatchObject({ kind: 'tool', state: 'failed', error: expect.anything() as object })
  expect(await client.sessions.messages('unknown')).toEqual([])
})

test('useSession: a conversation is shown live, continued, answered, and shown again after a reload', async () => {
  const client = await serve()
  const kept: { id?: string | undefined } = {}
  const shown = page(client, kept)
  await shown.send('lab', 'say hello; ask Go on?; say more')
  await until('it asks', () => answers(shown.state().messages)[0]?.questions.length === 1)
  expect(shown.state()).toMatchObject({ id: kept.id, isBusy: true, problem: undefined })
  await shown.answer({ answer: 'yes' })
  await until('it has ended', () => !shown.state().isBusy)
  await shown.send('lab', 'say again')
  await until('the second turn has ended', () => answers(shown.state().messages)[1]?.status === 'completed')
  const { messages } = shown.state()
  expect(answers(messages)[0]!.parts.map(({ kind }) => kind)).toEqual(['text', 'answers', 'text'])
  const reloaded = page(client, kept)
  await until('it is shown again', () => reloaded.state().messages.length === 4 && !reloaded.state().isBusy)
  expect(reloaded.state().messages).toEqual(messages)
  expect(await client.sessions.messages(kept.id!)).toEqual(messages)
  reloaded.clear()
  expect([reloaded.state().messages, kept.id]).toEqual([[], undefined])
})

test('useSession: stops its runs, and reports a start that was refused', async () => {
  const client = await serve()
  const shown = page(client, {})
  await shown.send('lab', 'hang')
  await until('it runs', () => answers(shown.state().messages)[0]?.status === 'running')
  await shown.stop()
  await until('it is stopped', () => answers(shown.state().messages)[0]?.status === 'cancelled')
  await shown.send('nobody', 'hello')
  expect(shown.state()).toMatchObject({ isBusy: false, problem: { code: expect.any(String) as string } })
})

test('[LOG-1] useSession: the server is killed during a run, and the conversation is shown to its end', async () => {
  const options = {
    store: temporaryDatabase(),
    command: ['serve', join(import.meta.dirname, 'long-run.ts')],
    args: ['--log-level', 'warn', '--drain-timeout', '0'],
  }
  let server = await startServer(options)
  const proxy = await startFaultProxy(() => server.url)
  const client = createClient({ url: proxy.url, retries: 1000, retryDelayMs: 20, shareConnections: false })
  const shown = page(client, {})
  await shown.send('long', 2)
  await until('it has text', () => (answers(shown.state().messages)[0]?.text.length ?? 0) > 20)
  await server.kill()
  server = await startServer(options)
  await until('it has ended', () => answers(shown.state().messages)[0]?.status === 'completed')
  const { text } = answers(shown.state().messages)[0]!
  expect(text).toBe(
    text
      .split(' ')
      .slice(0, -1)
      .map((_, number) => `[${number}] `)
      .join(''),
  )
  expect(await client.sessions.messages(shown.state().id!)).toEqual(shown.state().messages)
}, 240_000)
