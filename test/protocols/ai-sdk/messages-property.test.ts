/** The AI SDK's own reducer turns our streams into the content of the log, for golden and random logs. */
import { asSchema, readUIMessageStream, uiMessageChunkSchema, type UIMessage, type UIMessageChunk } from 'ai'
import { expect, test } from 'vitest'
import { RunText } from '../../../src/client/index.ts'
import type { Event, LoggedEvent } from '../../../src/core/model/event.ts'
import { chatProjection } from '../../../src/ai-sdk/view/projection.ts'
import { toUiParts } from '../../../src/ai-sdk/view/ui-parts.ts'
import type { ChatView } from '../../../src/ai-sdk/view/chat-writer.ts'
import { joinedChunks, newestChunks } from '../../../src/ai-sdk/view/chunk-list.ts'
import type { ChatFrame, ChatState } from '../../../src/ai-sdk/view/state.ts'
import { newRun } from '../../../src/testing/fixtures.ts'
import { readLogs } from '../../golden/log-file.ts'
import { withSeed } from '../../support/with-seed.ts'
import { randomEvents } from '../../views/random-log.ts'

const TIME = '2026-01-01T00:00:00.000Z'

function logged(run: string, component: string, events: readonly Event[]): LoggedEvent[] {
  const created: Event = { type: 'run.created', data: { component, input: 'go', session: 's' } }
  return [created, ...events].map((event, index) => ({ ...event, run, index, time: TIME }))
}

interface Folded {
  readonly state: ChatState
  readonly frames: readonly ChatFrame[]
}

function fold(log: readonly LoggedEvent[], view: ChatView): Folded {
  const projection = chatProjection(view)
  const frames: ChatFrame[] = []
  let state = projection.initial(newRun(log[0]!.run, TIME).run)
  for (const event of log) {
    const step = projection.apply(state, event)
    state = step.state
    frames.push(...step.frames)
  }
  return { state, frames }
}

/** The chunks of a stream that is read to the log's end. */
function chunksOf({ frames }: Folded): UIMessageChunk[] {
  return frames.flatMap(({ chunk, closes }) =>
    chunk === undefined || chunk === '[DONE]' || closes === true ? [] : [chunk as UIMessageChunk],
  )
}

/** The message as `useChat` builds it. An `error` chunk ends its reading, so it is left out. */
async function messageOf(chunks: readonly UIMessageChunk[]): Promise<UIMessage | undefined> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      // The client changes data parts in place.
      for (const chunk of chunks) if (chunk.type !== 'error') controller.enqueue(structuredClone(chunk))
      controller.close()
    },
  })
  let last: UIMessage | undefined
  let failure: unknown
  const messages = readUIMessageStream({ stream, onError: (error) => (failure = error), terminateOnError: true })
  for await (const message of messages) last = message
  if (failure !== undefined) throw failure
  return last
}

function textOf(message: UIMessage | undefined): string {
  return message?.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? ''
}

function textInLog(log: readonly LoggedEvent[]): string {
  const text = new RunText()
  for (const event of log) text.apply(event)
  return text.value
}

const TOOLS = 'dynamic'

interface Compared {
  readonly shown: string
  readonly logged: string
}

/** The text of all messages at the end of a log, and that of the log. */
async function compare(log: readonly LoggedEvent[]): Promise<Compared> {
  const { state } = fold(log, { leg: 0, restart: 0, tools: TOOLS })
  const end = log.at(-1)!
  let text = ''
  const begun = new Set<number>()
  for (const { message } of newestChunks(state.chunks, () => true)) begun.add(message)
  for (const leg of [...begun].toSorted((left, right) => left - right)) {
    const isLast = leg === state.message.leg
    // Earlier messages are replayed as they stood when the next one began.
    const until = isLast ? log : log.slice(0, log.findIndex(isResume(leg, log)))
    const { restart } = fold(until, { leg: 0, restart: 0, tools: TOOLS }).state.message
    const chunks = chunksOf(fold(until, { leg, restart, tools: TOOLS }))
    for (const chunk of chunks) await valid(chunk)
    const message = await messageOf(chunks)
    const nodes = newestChunks(
      fold(until, { leg: 0, restart: 0, tools: TOOLS }).state.chunks,
      (node) => node.message >= leg,
    )
    const ours = toUiParts(nodes.filter((node) => node.message === leg).map(({ chunk }) => chunk))
    expect(json(ours)).toEqual(json(message?.parts ?? []))
    expect(message?.parts.filter((part) => 'state' in part && part.state === 'streaming')).toEqual([])
    text += textOf(message)
  }
  const spoken = textInLog(log)
  const output = end.type === 'run.completed' && spoken === '' ? end.data.output : undefined
  // Later retractions do not change earlier messages.
  if (begun.size > 1) return { shown: '', logged: '' }
  return { shown: text, logged: output === undefined ? spoken : (output as string) }
}

function json(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

/** The answer after which the message of a leg ends. */
function isResume(leg: number, log: readonly LoggedEvent[]): (event: LoggedEvent) => boolean {
  let answers = 0
  return ({ type, index }) => {
    if (type !== 'run.resumed') return false
    answers++
    if (answers <= leg) return false
    return fold(log.slice(0, index + 1), { leg: 0, restart: 0, tools: TOOLS }).state.message.leg === answers
  }
}

async function valid(chunk: UIMessageChunk): Promise<void> {
  const result = await asSchema(uiMessageChunkSchema).validate!(chunk)
  expect(result.success, JSON.stringify(chunk)).toBe(true)
}

test.each(readLogs().map(({ name, events, component }) => [name, component, events] as const))(
  'AI SDK: the messages that its client builds from %s have the text of the log, after every event',
  async (name, component, events) => {
    const log = logged(`run_${name}`, component, events)
    for (let length = 1; length <= log.length; length += log.length > 60 ? 7 : 1) await checkOpen(log.slice(0, length))
    const { shown, logged: expected } = await compare(log)
    expect(shown).toBe(typeof expected === 'string' ? expected : JSON.stringify(expected))
  },
)

/** A client that is at any event of the log shows the parts that the history has. */
async function checkOpen(log: readonly LoggedEvent[], tools: ChatView['tools'] = TOOLS): Promise<void> {
  const { state } = fold(log, { leg: 0, restart: 0, tools })
  // The client publishes a new step with the next change.
  const change: UIMessageChunk = { type: 'message-metadata', messageMetadata: {} }
  const message = await messageOf([...chunksOf(fold(log, { ...state.message, tools })), change])
  const chunks = [...joinedChunks(state.chunks)].toReversed().filter((node) => node.message === state.message.leg)
  expect(json(toUiParts(chunks.map(({ chunk }) => chunk)))).toEqual(json(message?.parts ?? []))
}

const LOGS = 60
const OPEN_LOGS = 10

test('[LOG-5] AI SDK: its client builds the text of the log from random logs with retractions, pauses and actors', () =>
  withSeed(async (random, progress) => {
    for (let round = 0; round < LOGS; round++) {
      progress['round'] = round
      const { shown, logged: expected } = await compare(logged('run_x', 'c', randomEvents(random, 'run_x', 120)))
      expect(shown).toBe(expected)
    }
  }))

test.each(['dynamic', 'static'] as const)(
  '[LOG-5] AI SDK: after every event of random logs, the history has the parts that its client builds with %s tools',
  (tools) =>
    withSeed(async (random, progress) => {
      for (let round = 0; round < OPEN_LOGS; round++) {
        const log = logged('run_x', 'c', randomEvents(random, 'run_x', 60))
        for (let length = 1; length <= log.length; length++) {
          Object.assign(progress, { round, length })
          await expect(checkOpen(log.slice(0, length), tools)).resolves.toBeUndefined()
        }
      }
    }),
)

test('AI SDK: a stream that is read live ends with the same message as a replay, or is cut', () =>
  withSeed(async (random) => {
    for (let round = 0; round < LOGS; round++) {
      const log = logged('run_x', 'c', randomEvents(random, 'run_x', 120))
      const live = fold(log, { leg: 0, restart: 0, tools: TOOLS })
      if (live.state.message.leg > 0 || live.frames.some(({ end }) => end === 'cut')) continue
      expect(textOf(await messageOf(chunksOf(live)))).toBe(
        textOf(await messageOf(chunksOf(fold(log, { ...live.state.message, tools: TOOLS })))),
      )
    }
  }))
