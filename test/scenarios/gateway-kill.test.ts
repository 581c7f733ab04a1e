/** The gateway is killed while another server answers: its clients miss no piece and get none twice. */
import { expect, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import type { LoggedEvent } from '../../src/core/model/event.ts'
import type { Component } from '../../src/core/ports/component.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { framesIn, postForm, type Seen } from '../protocols/agentos/serve.ts'
import { call, startRun } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { textOf } from '../support/node.ts'
import { type ServerProcess, startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'

const WORDS = ['one ', 'two ', 'three ', 'four ', 'five ', 'six ', 'seven ', 'eight']
const TEXT = WORDS.join('')
/** The gateway dies when its clients have so many words. */
const KILLS = [2, 5]

/** An agent of the upstream that says as many words as it may. */
function narrator(): {
  readonly component: Component
  readonly runs: () => number
  readonly allow: (words: number) => void
} {
  const gates = WORDS.map(() => Promise.withResolvers<void>())
  let runs = 0
  const component = agent({
    id: 'story',
    async *run() {
      runs++
      for (const [index, word] of WORDS.entries()) {
        await gates[index]!.promise
        yield word
      }
    },
  })
  return { component, runs: () => runs, allow: (words) => gates.slice(0, words).forEach(({ resolve }) => resolve()) }
}

/** A client that takes up its stream where it broke off. */
class Viewer {
  readonly frames: Seen[] = []
  readonly #connect: (url: string, last: Seen | undefined) => Promise<Response>

  constructor(connect: (url: string, last: Seen | undefined) => Promise<Response>) {
    this.#connect = connect
  }

  /** Reads until the stream ends or breaks. */
  async attach({ url }: ServerProcess): Promise<void> {
    const response = await this.#connect(url, this.frames.at(-1))
    expect(response.status).toBe(200)
    let rest = ''
    try {
      for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
        rest += text
        const end = rest.lastIndexOf('\n\n') + 2
        // Names in lower case are about the stream itself, such as `catch_up`.
        this.frames.push(...framesIn(rest.slice(0, end)).filter(({ event }) => /^[A-Z]|^\w+\.\w+$/.test(event)))
        rest = rest.slice(end)
      }
    } catch {
      // The gateway was killed; what came of an unfinished frame is dropped.
    }
  }
}

function nativeViewer(runId: () => string | undefined): Viewer {
  return new Viewer(async (url, last) => {
    const id = await until('the run was started', runId)
    return fetch(`${url}/runs/${id}/events`, {
      headers: { accept: 'text/event-stream', ...(last !== undefined && { 'last-event-id': last.id! }) },
    })
  })
}

function agentOsViewer(): Viewer {
  return new Viewer((url, last) => {
    if (last === undefined) return postForm({ url }, '/agents/story/runs', { message: 'go', session_id: 's' })
    const { run_id: id, event_index: index } = last.data
    return postForm({ url }, `/agents/story/runs/${String(id)}/resume`, {
      session_id: 's',
      last_event_index: String(index),
    })
  })
}

/** What it shows: without retracted text. */
function textIn({ frames }: Viewer): string {
  const log = frames.flatMap(({ event, data }) => (/^[a-z]/.test(event) ? [data as unknown as LoggedEvent] : []))
  const pieces = frames.map(({ event, data }) => (event === 'RunContent' ? (data['content'] as string) : ''))
  return textOf(log) + pieces.join('')
}

function lastFrame({ frames }: Viewer): string {
  return frames.at(-1)?.text ?? 'no frame'
}

/** Follows a run of the gateway with these clients, across its deaths, until all streams have ended. */
async function followAcrossKills(
  upstream: string,
  allow: (words: number) => void,
  viewers: readonly Viewer[],
  start: (gateway: ServerProcess) => Promise<void> = async () => {},
): Promise<ServerProcess> {
  const store = temporaryDatabase()
  const open = (): Promise<ServerProcess> => startServer({ store, command: ['gateway', '--upstream', upstream] })
  let gateway = await open()
  await until('the upstream was discovered', async () => {
    const { body } = await call(gateway, 'GET', '/components')
    return JSON.stringify(body).includes('"story"')
  })
  await start(gateway)
  for (const words of KILLS) {
    const attached = viewers.map((viewer) => viewer.attach(gateway))
    allow(words)
    const seen = WORDS.slice(0, words).join('')
    const isSeen = (): boolean => viewers.every((viewer) => textIn(viewer) === seen)
    await until(() => `all clients have ${words} words: ${viewers.map(lastFrame).join('; ')}`, isSeen)
    allow(words + 1) // may still reach the gateway
    await gateway.kill()
    allow(words + 2) // is said while nobody listens
    await Promise.all(attached)
    gateway = await open()
  }
  allow(WORDS.length)
  await Promise.all(viewers.map((viewer) => viewer.attach(gateway)))
  return gateway
}

/** Every event came once and in order, and each kill cost one attempt. */
function expectWhole({ frames }: Viewer): void {
  expect(frames.map(({ id }) => Number(id))).toEqual(frames.map((_, index) => index))
  const types = frames.map(({ event }) => event)
  expect(types.at(-1)).toBe('run.completed')
  expect(types.filter((type) => type === 'run.started')).toHaveLength(KILLS.length + 1)
}

test('[RUN-1] [RUN-5] gateway, AgentOS upstream: killed twice within an answer, its clients see every piece once', async () => {
  const { component, runs, allow } = narrator()
  const served = await serveInProcess({ store: createMemoryStore(), components: [component] })
  const through = agentOsViewer()
  const native = nativeViewer(() => through.frames[0]?.data['run_id'] as string | undefined)
  await followAcrossKills(`agentos=${served.url}`, allow, [through, native])
  expect(runs()).toBe(1)
  expect([textIn(through), textIn(native)]).toEqual([TEXT, TEXT])
  expectWhole(native)
  expect(native.frames.map(({ event }) => event)).not.toContain('attempt.discarded')
  const received = native.frames
    .filter(({ event }) => event === 'upstream.received')
    .map(({ data }) => (data['data'] as { data: { event_index: number } }).data.event_index)
  expect(received).toEqual(received.map((_, index) => index))
  expect(through.frames.map(({ data }) => data['event_index'])).toEqual(through.frames.map((_, index) => index))
  expect(through.frames.at(-1)).toMatchObject({ event: 'RunCompleted', data: { content: TEXT } })
})

test('[RUN-1] [RUN-5] gateway, A2A upstream: killed twice within an answer, its clients see every piece once', async () => {
  const { component, runs, allow } = narrator()
  const served = await serveInProcess({ store: createMemoryStore(), components: [component] })
  let id: string | undefined
  const native = nativeViewer(() => id)
  const gateway = await followAcrossKills(`a2a=${served.url}/a2a/story`, allow, [native], async (first) => {
    ;({ id } = await startRun(first, 'go', { component: 'story' }))
  })
  expect(runs()).toBe(1)
  // A task that is subscribed to again tells its text in one piece, which replaces the pieces before.
  expect(textIn(native)).toBe(TEXT)
  expectWhole(native)
  const task = await call(gateway, 'POST', '/a2a/story', {
    body: { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id } },
    headers: { 'a2a-version': '1.0' },
  })
  expect(task.body).toMatchObject({
    result: { status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ parts: [{ text: TEXT }] }] },
  })
})
