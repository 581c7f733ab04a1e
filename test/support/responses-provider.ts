/** A provider of the OpenAI Responses API with background responses, which keep generating without a client. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Seen {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: IncomingMessage['headers']
  readonly body: Readonly<Record<string, unknown>>
}

interface Generation {
  readonly id: string
  readonly model: unknown
  readonly events: object[]
  readonly listeners: Set<ServerResponse>
  status: 'in_progress' | 'completed' | 'failed' | 'cancelled'
  text: string
  /** Output items. Default: a message with the text. */
  output?: readonly object[]
}

/** Closed after the test. */
export async function openResponsesProvider(): Promise<ResponsesProvider> {
  const provider = new ResponsesProvider()
  await provider.listen()
  onTestFinished(() => provider.close())
  return provider
}

export class ResponsesProvider {
  readonly seen: Seen[] = []
  readonly generations: Generation[] = []
  #expired = false
  /** Also generates responses that are not in the background. */
  allowsForeground = false
  readonly #server = createServer((request, response) => void this.#serve(request, response))
  /** Error responses for the next starts, in order. */
  readonly refusals: { readonly status: number; readonly headers?: Record<string, string> }[] = []

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** For `baseURL`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  get last(): Generation {
    return this.generations.at(-1)!
  }

  /** Adds words to the last started response. */
  say(...words: readonly string[]): void {
    const { last } = this
    for (const delta of words) {
      last.text += delta
      this.#add(last, 'response.output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta })
    }
  }

  finish(): void {
    const { last } = this
    last.status = 'completed'
    this.#add(last, 'response.output_item.done', { output_index: 0, item: messageOf(last) })
    this.#add(last, 'response.completed', { response: this.#shape(last) })
    this.#hangUp(last)
  }

  fail(message: string): void {
    const { last } = this
    last.status = 'failed'
    this.#add(last, 'response.failed', { response: { ...this.#shape(last), error: { code: 'server_error', message } } })
    this.#hangUp(last)
  }

  /** Deletes the responses, as if expired. */
  forget(): void {
    for (const generation of this.generations) this.#cut(generation)
    this.generations.splice(0)
  }

  /** Makes responses too old to stream; they can still be fetched. */
  expire(): void {
    this.#expired = true
    for (const generation of this.generations) this.#cut(generation)
  }

  /** Adds an event to the last started response. */
  add(type: string, data: object): void {
    this.#add(this.last, type, data)
  }

  /** Disconnects all clients. */
  drop(): void {
    this.#cut(this.last)
  }

  calls(method: string, path: RegExp): Seen[] {
    return this.seen.filter((seen) => seen.method === method && path.test(seen.path))
  }

  get started(): number {
    return this.calls('POST', /\/responses$/).length
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
    const text = (await request.toArray()).join('')
    const seen: Seen = {
      method: request.method!,
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: request.headers,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    }
    this.seen.push(seen)
    if (pathname.endsWith('/models'))
      return void response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ object: 'list', data: [{ id: 'm' }] }))
    const [, id, command] = /\/responses(?:\/([^/]+)(\/cancel)?)?$/.exec(pathname) ?? []
    if (id === undefined) return this.#start(seen, response)
    const known = this.generations.find((generation) => generation.id === id)
    if (known === undefined) return refuse(response, 404, `Response with id '${id}' not found.`)
    if (command !== undefined) {
      known.status = 'cancelled'
      this.#hangUp(known)
      return void response.setHeader('content-type', 'application/json').end(JSON.stringify(this.#shape(known)))
    }
    if (seen.query['stream'] !== 'true')
      return void response.setHeader('content-type', 'application/json').end(JSON.stringify(this.#shape(known)))
    if (this.#expired) return refuse(response, 400, 'This response can no longer be streamed')
    this.#attach(known, Number(seen.query['starting_after'] ?? -1), response)
  }

  #start({ body }: Seen, response: ServerResponse): void {
    const refusal = this.refusals.shift()
    if (refusal !== undefined) return refuse(response, refusal.status, 'not now', refusal.headers)
    const isBackground = body['background'] === true && body['store'] === true && body['stream'] === true
    if (!isBackground && !this.allowsForeground)
      return refuse(response, 400, 'this provider only generates in the background')
    const generation: Generation = {
      id: `resp_${this.generations.length + this.started}`,
      model: body['model'],
      events: [],
      listeners: new Set(),
      status: 'in_progress',
      text: '',
    }
    this.generations.push(generation)
    this.#add(generation, 'response.created', { response: this.#shape(generation) })
    this.#add(generation, 'response.output_item.added', { output_index: 0, item: messageOf(generation) })
    this.#attach(generation, -1, response)
  }

  #attach(generation: Generation, after: number, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of generation.events.slice(after + 1)) response.write(frameOf(event))
    if (generation.status !== 'in_progress') return void response.end()
    generation.listeners.add(response)
    response.on('close', () => generation.listeners.delete(response))
  }

  #add(generation: Generation, type: string, data: object): void {
    const event = { type, sequence_number: generation.events.length, ...data }
    generation.events.push(event)
    for (const listener of generation.listeners) listener.write(frameOf(event))
  }

  #hangUp({ listeners }: Generation): void {
    for (const listener of listeners) listener.end()
  }

  #cut({ listeners }: Generation): void {
    for (const listener of listeners) listener.destroy()
  }

  #shape(generation: Generation): object {
    const { id, model, status } = generation
    const usage = {
      input_tokens: 3,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 10,
    }
    const output = status === 'completed' ? (generation.output ?? [messageOf(generation)]) : []
    return {
      id,
      object: 'response',
      created_at: 0,
      model,
      status,
      output,
      error: null,
      incomplete_details: null,
      usage,
    }
  }
}

function messageOf({ text, status }: Generation): object {
  const content = text === '' ? [] : [{ type: 'output_text', text, annotations: [] }]
  return { type: 'message', id: 'msg_1', role: 'assistant', status, content }
}

function frameOf(event: object): string {
  return `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`
}

function refuse(response: ServerResponse, status: number, message: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } }))
}
