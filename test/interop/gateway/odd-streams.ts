/** An OpenAI-compatible server with odd responses, read by the official client directly and through the gateway. */
import { createServer, type ServerResponse } from 'node:http'
import OpenAI from 'openai'
import type { Cell } from './faults.ts'

interface OddStream {
  readonly title: string
  /** The bytes, in the pieces that are sent. */
  readonly pieces: readonly (string | Buffer)[]
  /** The connection is cut after them. */
  readonly isCut?: boolean
  /** Whether it is a valid response. */
  readonly isAnswer: boolean
}

const ANSWER = 'w0 w1 🦊'

function chunk(delta: object, finish: string | null = null, more: object = {}): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }]
  const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'odd' }
  return `data: ${JSON.stringify({ ...head, choices, ...more })}\n\n`
}

const USAGE = { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 }
const words = ['w0 ', 'w1 ', '🦊'].map((content) => chunk({ content })).join('')
const stop = chunk({}, 'stop')
const DONE = 'data: [DONE]\n\n'
const whole = words + stop + DONE

export const oddStreams: readonly OddStream[] = [
  {
    title: 'characters split between packets',
    pieces: [...Buffer.from(whole)].map((byte) => Buffer.from([byte])),
    isAnswer: true,
  },
  { title: 'no `[DONE]`', pieces: [words + stop], isAnswer: true },
  {
    title: 'lines that end with CRLF, and comments',
    pieces: [`: hi\r\n\r\n${whole.replaceAll('\n', '\r\n')}`],
    isAnswer: true,
  },
  {
    title: 'a chunk with only usage',
    pieces: [
      words + stop,
      `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"odd","choices":[],"usage":${JSON.stringify(USAGE)}}\n\n${DONE}`,
    ],
    isAnswer: true,
  },
  {
    title: 'an error frame after two words',
    pieces: [chunk({ content: 'w0 ' }), chunk({ content: 'w1 ' }), 'data: {"error":{"message":"no GPU"}}\n\n'],
    isAnswer: false,
  },
  {
    title: 'an error beside the finish reason `stop`',
    pieces: [words, chunk({}, 'stop', { error: { message: 'the agent crashed' } }) + DONE],
    isAnswer: false,
  },
  { title: 'finish reason `error`', pieces: [words, chunk({}, 'error') + DONE], isAnswer: false },
  {
    title: 'a crash that is reported as an empty `stop` without usage (hermes-agent #12422)',
    pieces: [
      chunk({ role: 'assistant' }),
      chunk({}, 'stop', { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }) + DONE,
    ],
    isAnswer: false,
  },
  { title: 'a clean end without a finish reason', pieces: [words + DONE], isAnswer: false },
  { title: 'a connection that is cut in a frame', pieces: [words, 'data: {"id":'], isCut: true, isAnswer: false },
]

export interface OddServer {
  readonly url: string
  close(): void
}

/** Each stream is a model; its number is the name. */
export async function startOddServer(port: number): Promise<OddServer> {
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      const data = oddStreams.map((_, number) => ({
        id: modelOf(number),
        object: 'model',
        created: 0,
        owned_by: 'odd',
      }))
      return void response.setHeader('content-type', 'application/json').end(JSON.stringify({ object: 'list', data }))
    }
    const body: Buffer[] = []
    request.on('data', (piece: Buffer) => body.push(piece))
    request.on('end', () => void play(response, Buffer.concat(body).toString()))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${port}/v1`, close: () => server.close().closeAllConnections() }
}

async function play(response: ServerResponse, body: string): Promise<void> {
  const { model } = JSON.parse(body) as { model: string }
  const { pieces, isCut = false } = oddStreams[Number(model.slice('odd-'.length))]!
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.socket?.setNoDelay(true)
  for (const piece of pieces) await new Promise<void>((resolve) => response.write(piece, () => setImmediate(resolve)))
  if (isCut) response.destroy()
  else response.end()
}

function modelOf(number: number): string {
  return `odd-${number}`
}

/** Result of the official client for a stream. */
export async function readOdd(baseURL: string, number: number): Promise<Cell> {
  const { isAnswer } = oddStreams[number]!
  const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0, timeout: 30_000 })
  let [text, finish] = ['', 'no finish reason']
  try {
    const messages = [{ role: 'user' as const, content: 'go' }]
    for await (const { choices } of await client.chat.completions.create({
      model: modelOf(number),
      stream: true,
      messages,
    })) {
      text += choices[0]?.delta.content ?? ''
      finish = choices[0]?.finish_reason ?? finish
    }
  } catch (thrown) {
    const { code, message } = thrown as { code?: unknown; message?: string }
    finish = `error ${typeof code === 'string' ? code : (message ?? '')}`
  }
  const isSuccess = finish === 'stop' && text === ANSWER
  const cell = { text: `${text === '' ? 'no text' : JSON.stringify(text)}, ${finish}` }
  const isRight = isAnswer ? isSuccess : finish.startsWith('error ')
  return isRight ? cell : { ...cell, problem: cell.text }
}
