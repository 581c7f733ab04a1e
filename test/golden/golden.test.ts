/**
 * The streams of every protocol are byte for byte those in `streams/`: live, on replay, resumed after every position, and after a
 * restart (LOG-5). `npx vitest run test/golden -u` updates the files; read the difference before you commit it.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { GOLDEN_FOLDER, type GoldenLog, readLogs } from './log-file.ts'
import {
  chat,
  getResponse,
  type GoldenProtocol,
  protocols,
  replayAgUi,
  resumeAgentos,
  resumeAiSdk,
  runOf,
  sendA2a,
  sendLegacy,
  sendRest,
  sendWithoutHistory,
  startAgentos,
  startAgUi,
  startAiSdk,
  startResponse,
  subscribeA2a,
  withoutClientMessages,
} from './requests.ts'
import { GoldenWorld } from './world.ts'

/** Responses that are compared by their digests, because they repeat most of the files. */
type Digests = Record<string, string>

const logs = readLogs()
/** These protocols keep a stream open while its run waits for a person, so of such a run there is no whole stream. */
const openWhilePaused: readonly GoldenProtocol[] = ['chat', 'responses']

describe.each(logs.map((log) => [log.name, log] as const))('golden streams of %s', (name, log) => {
  const endsPaused = log.events.at(-1)!.type === 'run.paused'
  const asks = log.events.some(({ type }) => type === 'run.paused')
  const shown = protocols.filter((protocol) => !endsPaused || !openWhilePaused.includes(protocol))

  test('[LOG-5] are the same live, on replay, resumed after every position, and after a restart', async () => {
    const world = new GoldenWorld(log)
    await world.serve()
    const live = await streamLive(world, shown)
    const replayed = await replay(world, shown)
    for (const protocol of shown) {
      const file = join(GOLDEN_FOLDER, 'streams', `${name}.${protocol}.sse`)
      await expect(replayed[protocol], protocol).toMatchFileSnapshot(file)
      // A live stream ends where the run pauses; the replay of a run that went on shows what follows.
      const whole = replayed[protocol]!
      // An AI SDK message is replayed without what was retracted, and without the ends of streams that paused.
      if (protocol === 'ai-sdk' && (asks || live[protocol]!.endsWith(CUT))) continue
      const streamed = protocol === 'ag-ui' ? withoutClientMessages(world, live[protocol]!) : live[protocol]!
      expect(streamed, `${protocol} live`).toBe(asks ? whole.slice(0, streamed.length) : whole)
    }
    const digests = await resumed(world, shown, replayed)
    digests['ai-sdk live'] = digest(live['ai-sdk']!)
    await world.serve()
    expect(await replay(world, shown)).toEqual(replayed)
    expect({ ...(await resumed(world, shown, replayed)), 'ai-sdk live': digests['ai-sdk live'] }).toEqual(digests)
    if (log.events.length >= TRIMMED_EVENTS_MIN && !endsPaused) Object.assign(digests, await trimmed(world, log))
    const lines = Object.entries(digests).map(([key, value]) => `${key}: ${value}\n`)
    await expect(lines.join('')).toMatchFileSnapshot(join(GOLDEN_FOLDER, 'streams', `${name}.digests.txt`))
  })
})

/** Starts a run in every protocol, appends the log, and lets others join after every event. Returns the streams of the starts. */
async function streamLive(
  world: GoldenWorld,
  shown: readonly GoldenProtocol[],
): Promise<Partial<Record<GoldenProtocol, string>>> {
  const start = {
    agentos: startAgentos,
    chat,
    responses: startResponse,
    a2a: sendA2a,
    'ai-sdk': startAiSdk,
    'ag-ui': startAgUi,
  }
  const streams: Partial<Record<GoldenProtocol, Promise<string>>> = {}
  for (const protocol of shown) {
    const response = await world.start(runOf(world, protocol), () => start[protocol](world))
    streams[protocol] = untilCut(response)
    const worker = await world.worker(runOf(world, protocol))
    const joined: Joined[] = []
    for (const index of world.log.events.keys()) {
      const before = await joinLive(world, protocol)
      if (before !== undefined) joined.push(before)
      await worker.append(index)
    }
    const whole = framesIn((await replay(world, [protocol]))[protocol]!)
    for (const { has, body } of joined) assertJoined(protocol, whole, has, framesIn(await body))
  }
  const live: Partial<Record<GoldenProtocol, string>> = {}
  for (const protocol of shown) live[protocol] = await streams[protocol]!
  return live
}

const CUT = '(the connection is cut)'

/** The body of a response, also if the server aborts it. */
async function untilCut(response: Response): Promise<string> {
  let text = ''
  try {
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) text += piece
    return text
  } catch {
    return text + CUT
  }
}

interface Joined {
  /** The last position that the subscriber had when it joined. */
  readonly has: number
  readonly body: Promise<string>
}

/** Joins a live stream after the newest position. Responses and chat completions have no such position and join at the beginning. */
async function joinLive(world: GoldenWorld, protocol: GoldenProtocol): Promise<Joined | undefined> {
  switch (protocol) {
    case 'agentos': {
      const response = await resumeAgentos(world, 1_000_000)
      const reader = response.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
      let text = ''
      while (!text.includes('current_event_count') && !text.includes('total_buffered')) {
        const { value, done } = await reader.next()
        if (done === true) break
        text += value
      }
      const count = /"(?:current_event_count|total_buffered)":(\d+)/.exec(text)![1]
      return { has: Number(count) - 1, body: readRest(text, reader) }
    }
    case 'a2a': {
      const response = await subscribeA2a(world)
      if (response.headers.get('content-type') !== 'text/event-stream') return undefined
      return { has: Number.NaN, body: response.text() }
    }
    default:
      return undefined
  }
}

async function readRest(text: string, reader: AsyncIterator<string>): Promise<string> {
  let whole = text
  for (;;) {
    const { value, done } = await reader.next()
    if (done === true) return whole
    whole += value
  }
}

/** Stream of a subscriber that joined: the tail, up to the pause of the run. */
function assertJoined(protocol: GoldenProtocol, whole: readonly string[], has: number, got: readonly string[]): void {
  const own = protocol === 'agentos' ? got.filter((frame) => frame.startsWith('id: ')) : got.slice(1)
  const first = protocol === 'agentos' ? has + 1 : Number(/^id: (\d+)/.exec(got[0]!)?.[1]) + 1
  // The stream of an A2A task ends at its first pause; what follows is compared by `resumed`.
  const from = whole.findIndex((frame) => frame.startsWith(`id: ${first}\n`))
  const tail = from < 0 ? [] : whole.slice(from)
  const isAfterPause = protocol === 'a2a' && from < 0
  if (isAfterPause) return
  expect(own, `${protocol} joined after ${first - 1}`).toEqual(tail.slice(0, own.length))
  if (own.length < tail.length)
    expect(own.at(-1) ?? got.at(-1), 'ends at a pause').toMatch(/Paused|PAUSED|INPUT_REQUIRED/)
}

/** The whole streams of runs that are in the log. */
async function replay(
  world: GoldenWorld,
  shown: readonly GoldenProtocol[],
): Promise<Partial<Record<GoldenProtocol, string>>> {
  const whole = {
    agentos: async () => {
      const text = await (await resumeAgentos(world)).text()
      return text.replace(/event: replay\n.*\n\n/, '')
    },
    chat: async () => (await chat(world)).text(),
    responses: async () => (await getResponse(world, {})).text(),
    a2a: async () => (await sendA2a(world)).text(),
    'ai-sdk': async () => (await resumeAiSdk(world)).text(),
    'ag-ui': () => replayAgUi(world),
  }
  const streams: Partial<Record<GoldenProtocol, string>> = {}
  for (const protocol of shown) streams[protocol] = await whole[protocol]()
  return streams
}

/** Resumes after every position and expects the tail of the uncut stream. Returns the digests of all responses. */
async function resumed(
  world: GoldenWorld,
  shown: readonly GoldenProtocol[],
  whole: Partial<Record<GoldenProtocol, string>>,
): Promise<Digests> {
  const asked: Promise<Digests>[] = []
  if (whole.agentos !== undefined) asked.push(resumedAgentos(world, framesIn(whole.agentos)))
  if (whole.responses !== undefined) asked.push(resumedResponses(world, framesIn(whole.responses)))
  if (whole.a2a !== undefined) asked.push(resumedA2a(world))
  asked.push(resumedAiSdk(world))
  if (shown.includes('chat')) {
    const progress = digestOf(chat(world, { progress: true }))
    const bare = digestOf(chat(world, { usage: false }))
    asked.push(Promise.all([progress, bare]).then(([first, second]) => ({ progress: first, bare: second })))
  }
  return Object.assign({}, ...(await Promise.all(asked))) as Digests
}

async function resumedAgentos(world: GoldenWorld, whole: readonly string[]): Promise<Digests> {
  return atEvery(-1, whole.length, 'agentos', async (last) => {
    const text = await (await resumeAgentos(world, last)).text()
    expect(framesIn(text).filter((frame) => frame.startsWith('id: '))).toEqual(whole.slice(last + 1))
    return digest(text)
  })
}

/** Concurrently: the requests are small, and must not influence each other. */
async function atEvery(
  from: number,
  to: number,
  name: string,
  ask: (position: number) => Promise<string>,
): Promise<Digests> {
  const positions = Array.from({ length: to - from + 1 }, (_, index) => from + index)
  return Object.fromEntries(
    await Promise.all(positions.map(async (position) => [`${name} after ${position}`, await ask(position)] as const)),
  )
}

async function resumedResponses(world: GoldenWorld, whole: readonly string[]): Promise<Digests> {
  // The last frame is `[DONE]`, unless the stream was cut.
  const numbered = whole.filter((frame) => frame.includes('"sequence_number"')).length
  const digests = await atEvery(0, numbered, 'responses', async (after) => {
    const response = await getResponse(world, { after })
    const text = await response.text()
    if (response.status === 200) expect(framesIn(text)).toEqual(whole.slice(after + 1))
    return `${response.status} ${digest(text)}`
  })
  const second = await getResponse(world, { part: 1 })
  if (second.status === 200) digests['responses, second part'] = digest(await second.text())
  return digests
}

/** The first message of a run, after every chunk. Its later messages have streams of their own. */
async function resumedAiSdk(world: GoldenWorld): Promise<Digests> {
  const refusal = await resumeAiSdk(world, 1_000_000)
  const refused = await refusal.text()
  const [, count] = /has (\d+) chunks/.exec(refused) ?? []
  if (count === undefined) return { 'ai-sdk': `${refusal.status} ${digest(refused)}` }
  const whole = framesIn(await untilCut(await resumeAiSdk(world, 1)))
  return atEvery(1, Number(count), 'ai-sdk', async (startIndex) => {
    const text = await untilCut(await resumeAiSdk(world, startIndex))
    expect(framesIn(text)).toEqual(whole.slice(startIndex - 1))
    return digest(text)
  })
}

/** A task's stream ends at its first pause. The number of its events is in the refusal of a position that it does not have. */
async function resumedA2a(world: GoldenWorld): Promise<Digests> {
  const digests: Digests = {
    'a2a positions': await digestOf(sendA2a(world, { positions: true })),
    'a2a without history': await digestOf(sendWithoutHistory(world)),
    'a2a rest': await digestOf(sendRest(world)),
    'a2a 0.3': await digestOf(sendLegacy(world)),
  }
  const refusal = await (await subscribeA2a(world, 1_000_000)).text()
  const last = Number(/has events 0 to (\d+)/.exec(refusal)![1])
  const frames = new Map<number, string>()
  const later = await atEvery(0, isPaused(world) ? last - 1 : last, 'a2a', async (after) => {
    const text = await (await subscribeA2a(world, after)).text()
    const [snapshot, ...rest] = framesIn(text)
    expect(snapshot).toContain(`id: ${after}\n`)
    for (const [offset, frame] of rest.entries()) {
      const sequence = after + 1 + offset
      expect(frame).toContain(`id: ${sequence}\n`)
      expect(frame).toBe(frames.get(sequence) ?? frame)
      frames.set(sequence, frame)
    }
    return digest(text)
  })
  return { ...digests, ...later, 'a2a beyond the end': digest(refusal) }
}

/** The run waits for an answer: a subscription to a paused task gets no more events, and its stream stays open. */
function isPaused({ log }: GoldenWorld): boolean {
  return log.events.at(-1)!.type === 'run.paused'
}

const TRIMMED_EVENTS_MIN = 6

async function trimmed(world: GoldenWorld, log: GoldenLog): Promise<Digests> {
  const digests: Digests = {}
  const before = Math.floor(log.events.length / 2)
  for (const protocol of ['agentos', 'a2a'] as const) await world.store.trim(runOf(world, protocol), before)
  for (const last of [undefined, 0, before, 1000])
    digests[`trimmed agentos after ${last ?? 'nothing'}`] = await digestOf(resumeAgentos(world, last))
  for (const after of [0, 1, 1000]) digests[`trimmed a2a after ${after}`] = await digestOf(subscribeA2a(world, after))
  return digests
}

async function digestOf(response: Promise<Response>): Promise<string> {
  return digest(await (await response).text())
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** Frames with data, as they came. */
function framesIn(text: string): string[] {
  return text
    .split('\n\n')
    .filter((frame) => /^(?:id|event|data): /.test(frame))
    .map((frame) => `${frame}\n\n`)
}
