/** Simulates what a user of `useChat` sees when something breaks, and after a reload of the page. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { DefaultChatTransport, type UIMessage } from 'ai'
import { TestChat } from '../../test/protocols/ai-sdk/chat.ts'
import type { ScriptedModel } from './scripted-model.ts'
import type { RunningServer, Side } from './servers.ts'

const WORDS = 40
const LEAVE_AT = 10
/** No number of words is a whole answer. */
const STOPPED = -1
/** After this long without an end the user gives up. */
const PATIENCE_MS = 30_000

export interface World {
  readonly side: Side
  readonly server: RunningServer
  readonly model: ScriptedModel
}

/** The content of the page, as a phrase. Bold: the user is misled, or gets no end. */
export type Fault = (world: World) => Promise<readonly string[]>

class Page {
  readonly chat: TestChat
  readonly #connection: AbortController
  #answer: Promise<unknown> = Promise.resolve()

  constructor(world: World, id: string, messages: UIMessage[] = []) {
    const connection = new AbortController()
    const network: typeof fetch = (input, init) =>
      fetch(input, { ...init, signal: AbortSignal.any([connection.signal, ...(init?.signal ? [init.signal] : [])]) })
    const transport = new DefaultChatTransport<UIMessage>({ api: world.side.api(world.server.url), fetch: network })
    this.#connection = connection
    this.chat = new TestChat({ id, messages, transport })
  }

  ask(text: string): void {
    this.#answer = this.chat.sendMessage({ text })
  }

  resume(): void {
    this.#answer = this.chat.resumeStream()
  }

  get words(): number {
    return new Set(this.chat.messages.flatMap((message) => (message.role === 'assistant' ? wordsIn(message) : []))).size
  }

  /** Simulates a network failure: the server does not learn the reason. */
  disconnect(): void {
    this.#connection.abort(new TypeError('network error'))
  }

  async until(isReached: () => boolean): Promise<void> {
    for (let waited = 0; waited < PATIENCE_MS && !isReached(); waited += 20) await sleep(20)
  }

  /** Waits until the page shows that the response has ended, or the user gives up. */
  async untilSettled(): Promise<void> {
    await Promise.race([this.#answer, sleep(PATIENCE_MS)])
  }

  /** With `whole` words, or a marked failure, the user knows what happened. */
  sees(whole: number): string {
    const { status, error, finished } = this.chat
    const failure = this.chat.messages.at(-1)?.metadata as { error?: unknown } | undefined
    if (status === 'error') return `${this.words} words and an error: “${error?.message.slice(0, 80)}”`
    if (status !== 'ready') return `**${this.words} words, then nothing**`
    if (this.words === whole) return 'the whole answer'
    if (finished.at(-1)?.finishReason === 'interrupted') return `${this.words} words, marked as stopped`
    if (failure?.error !== undefined) return `${this.words} words, marked as failed`
    if (whole === STOPPED) return `**${this.words} words, not marked as stopped**`
    return this.words === 0 ? '**no answer**' : `**${this.words} words that look complete**`
  }
}

function wordsIn({ parts }: UIMessage): string[] {
  return parts.flatMap((part) => (part.type === 'text' ? (part.text.match(/w\d+/g) ?? []) : []))
}

/** Loads the saved messages, as the page does, and resumes. */
async function openPage(world: World, id: string): Promise<Page> {
  const { side, server } = world
  const response = await fetch(side.messages(side.api(server.url), id))
  const { messages } = (await response.json()) as { messages: UIMessage[] }
  const page = new Page(world, id, messages)
  page.resume()
  return page
}

async function reloaded(world: World, id: string, whole: number): Promise<string> {
  const page = await openPage(world, id)
  await page.untilSettled()
  return page.sees(whole)
}

async function begin(world: World, text: string): Promise<Page> {
  const page = new Page(world, randomUUID())
  page.ask(text)
  await page.until(() => page.words >= LEAVE_AT)
  return page
}

async function broken(world: World, text: string, whole: number): Promise<readonly string[]> {
  const page = await begin(world, text)
  await page.untilSettled()
  return [page.sees(whole), await reloaded(world, page.chat.id, whole)]
}

export const faults: Readonly<Record<string, Fault>> = {
  'nothing breaks': (world) => broken(world, `words ${WORDS}`, WORDS),
  'the model breaks off: the route throws after 10 words': (world) => broken(world, `cut ${LEAVE_AT}`, WORDS),
  'a tool returns a BigInt between 10 words and 10 more': (world) => broken(world, `tool ${LEAVE_AT}`, 2 * LEAVE_AT),
  async 'the connection breaks after 10 words; the page resumes'(world) {
    const page = await begin(world, `words ${WORDS}`)
    page.disconnect()
    await page.untilSettled()
    return ['a broken connection', await reloaded(world, page.chat.id, WORDS)]
  },
  async '`kill -9` of the server after 10 words, and restart'(world) {
    const page = await begin(world, `words ${WORDS}`)
    await world.server.restart()
    await page.untilSettled()
    return [page.sees(WORDS), await reloaded(world, page.chat.id, WORDS)]
  },
  async 'reload, then stop'(world) {
    const { side, server, model } = world
    const first = await begin(world, `words ${WORDS}`)
    first.disconnect()
    const page = await openPage(world, first.chat.id)
    await page.until(() => page.chat.status === 'streaming' && page.words >= LEAVE_AT)
    await page.chat.stop()
    if (side.stop !== undefined) await fetch(side.stop(side.api(server.url), page.chat.id), { method: 'POST' })
    const before = model.sent()
    await sleep(3000)
    const after = model.sent() - before
    const seen = after <= 2 ? 'the model stops' : `**the model goes on: ${after} words in 3 s**`
    return [seen, await reloaded(world, page.chat.id, STOPPED)]
  },
  async 'a second tab joins after 10 words'(world) {
    const page = await begin(world, `words ${WORDS}`)
    const second = await openPage(world, page.chat.id)
    await Promise.all([page.untilSettled(), second.untilSettled()])
    return [
      `first tab: ${page.sees(WORDS)}; second tab: ${second.sees(WORDS)}`,
      await reloaded(world, page.chat.id, WORDS),
    ]
  },
}
