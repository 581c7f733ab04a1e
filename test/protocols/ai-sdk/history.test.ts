/** The history of a chat is what `useChat` has after streaming: from the route, from the client and in process. */
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai'
import { expect, onTestFinished, test } from 'vitest'
import { labComponents } from '../../../src/agents/lab/kinds.ts'
import { HoldfastChatTransport, toUIMessages } from '../../../src/ai-sdk/index.ts'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { type Holdfast, holdfast } from '../../../src/mount/holdfast.ts'
import type { HoldfastOptions } from '../../../src/mount/options.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { until } from '../../support/until.ts'
import { withSeed } from '../../support/with-seed.ts'
import { clerk } from '../agentos/components.ts'
import { forecaster } from '../openai/components.ts'
import { TestChat } from './chat.ts'
import { echo } from './serve.ts'

function open(options: Partial<HoldfastOptions> = {}): Holdfast {
  const components = [...labComponents(), clerk, forecaster, echo]
  const hf = holdfast({ components, store: createMemoryStore(), ...options })
  onTestFinished(() => hf.close())
  return hf
}

const fetchOf =
  (hf: Holdfast): typeof fetch =>
  (input, init) =>
    hf.fetch(new Request(input, init))

function chatOf(hf: Holdfast, component: string, id: string): TestChat {
  const api = `http://localhost/ai/${component}/chat`
  const transport = new DefaultChatTransport<UIMessage>({ api, fetch: fetchOf(hf) })
  return new TestChat({
    id,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
}

/** Without fields that are undefined, and without an empty last step, which the client shows or not. */
function plain(messages: readonly object[]): object[] {
  return messages.map((message) => {
    const { parts, ...rest } = JSON.parse(JSON.stringify(message)) as { parts: { type: string }[] }
    return { ...rest, parts: parts.at(-1)?.type === 'step-start' ? parts.slice(0, -1) : parts }
  })
}

/** All ways to load a chat return the messages of the chat. */
async function expectLoaded(hf: Holdfast, chat: TestChat, component: string): Promise<void> {
  const expected = plain(chat.messages)
  expect(plain(await hf.chats.load(chat.id, { component }))).toEqual(expected)
  const session = hf.clientFor(localPrincipal).sessions.open(chat.id)
  expect(plain(await toUIMessages(session, { component }))).toEqual(expected)
  const transport = new HoldfastChatTransport({
    api: `http://localhost/ai/${component}/chat`,
    fetch: fetchOf(hf),
  })
  expect(plain(await transport.messages(chat.id))).toEqual(expected)
}

const STATEMENTS = [
  'text 3',
  'reason 2',
  'say a word',
  'tool look',
  'tool look fail',
  'step plan',
  'artifact report 1',
  'state kelp',
  'custom mood',
  'usage 3 4',
  'date',
  'complete done',
  'fail it broke',
  'reject not today',
] as const

test('AI SDK: loaded messages equal those of the chat after random scripts', () =>
  withSeed(async (random, progress) => {
    const hf = open()
    for (let round = 0; round < 25; round++) {
      const component = random.pick(['lab', 'lab-retry', 'lab-team', 'lab-workflow'])
      const chat = chatOf(hf, component, `chat-${round}`)
      const turns = random.between(1, 3)
      for (let turn = 0; turn < turns; turn++) {
        const script = Array.from({ length: random.between(1, 6) }, () => random.pick(STATEMENTS)).join('; ')
        Object.assign(progress, { round, component, script })
        await chat.sendMessage({ text: script })
      }
      await expectLoaded(hf, chat, component)
    }
  }))

test('AI SDK: loaded messages have approvals and denials as the chat has them, before and after the answer', async () => {
  const hf = open()
  for (const approved of [true, false]) {
    const chat = chatOf(hf, 'clerk', `approved-${approved}`)
    await chat.sendMessage({ text: 'send 25 to Ada' })
    await expectLoaded(hf, chat, 'clerk')
    const tools = chat.messages.at(-1)!.parts.filter((part) => part.type === 'dynamic-tool')
    const asked = tools.find(({ state }) => state === 'approval-requested')!
    await chat.addToolApprovalResponse({ id: asked.approval!.id, approved, reason: 'because' })
    await until('the run has ended', () => chat.finished.length === 2 && chat.status === 'ready')
    await expectLoaded(hf, chat, 'clerk')
  }
})

test('AI SDK: loaded messages have files, names of files and metadata of the user', async () => {
  const hf = open()
  for (const component of ['forecaster', 'echo']) {
    const chat = chatOf(hf, component, component)
    const file = {
      type: 'file',
      mediaType: 'text/plain',
      filename: 'a.txt',
      url: 'data:text/plain;base64,aGk=',
    } as const
    await chat.sendMessage({ text: 'look', files: [file], metadata: { sentFrom: 'phone' } })
    expect(chat.messages[0]!.metadata).toEqual({ sentFrom: 'phone' })
    await expectLoaded(hf, chat, component)
  }
})

test('AI SDK: loaded messages follow questions in words, a regenerated answer and an edited message', async () => {
  const hf = open()
  const asked = chatOf(hf, 'lab', 'asked')
  await asked.sendMessage({ text: 'say before; ask Which town?; say after' })
  await asked.sendMessage({ text: 'Rome' })
  // The log has the answer, not the id of the message that gave it.
  const [, , answer] = await hf.chats.load('asked', { component: 'lab' })
  asked.messages = asked.messages.with(2, { ...asked.messages[2]!, id: answer!.id })
  await expectLoaded(hf, asked, 'lab')
  const chat = chatOf(hf, 'forecaster', 'edited')
  await chat.sendMessage({ text: 'hello' })
  await chat.regenerate()
  await expectLoaded(hf, chat, 'forecaster')
  await chat.sendMessage({ text: 'and tomorrow' })
  await chat.sendMessage({ text: 'hello again', messageId: chat.messages[0]!.id })
  await expectLoaded(hf, chat, 'forecaster')
})

test('[SEC-1] hf.chats loads, streams and stops the chats of a principal, and no others', async () => {
  const hf = open({ authenticate: () => null, protocols: { native: true } })
  const alice = { id: 'alice' }
  const about = { component: 'lab', principal: alice }
  const { id } = await hf.clientFor(alice).runs.start({ component: 'lab', input: 'text 3; hang', session: 'c1' })
  await until('there is text', async () => JSON.stringify(await hf.chats.load('c1', about)).includes('[2]'))
  expect(await hf.chats.load('c1', { component: 'lab' })).toEqual([])
  expect((await hf.chats.resume('c1', { component: 'lab' })).status).toBe(204)
  const stream = await hf.chats.resume('c1', about)
  await hf.chats.stop('c1', about)
  expect(await stream.text()).toContain('"finishReason":"interrupted"')
  await expect(hf.chats.resume(id, { component: 'lab' })).rejects.toMatchObject({ code: 'not_found' })
  await expect(hf.chats.load('c1')).rejects.toThrow('select one with { component }')
})
