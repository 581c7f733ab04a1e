/** Clients of the three protocols, reduced to the words that a person sees and how the stream ended. */
import { connect } from 'node:net'
import type { Upstream } from './upstreams.ts'

export interface Seen {
  readonly words: readonly string[]
  /** The last frame with the outcome of the run; `cut` or `silence` if there is none. */
  readonly end: string
  readonly run: string | undefined
  readonly session: string | undefined
  readonly index: number | undefined
  readonly ms: number
}

export interface ViewOptions {
  /** Disconnect after this many words. */
  readonly leaveAfter?: number
  /** Stop waiting after this much silence. */
  readonly patienceMs?: number
  /** Stop waiting after this time in any case: heartbeats are no silence. Default: three minutes. */
  readonly limitMs?: number
  /** Called with the number of words so far, and the run as far as it is known. */
  readonly onWord?: (count: number, run: Viewed) => void
}

export type Viewed = Pick<Seen, 'run' | 'session' | 'index'>

type Protocol = Upstream['protocol']

interface Request {
  readonly path: string
  readonly body: string | URLSearchParams
}

/** `base`: of the upstream, or of the gateway. */
export function start(protocol: Protocol, id: string, script: string): Request {
  switch (protocol) {
    case 'agentos':
      return {
        path: `/agents/${id}/runs`,
        body: new URLSearchParams({ message: script, stream: 'true', session_id: crypto.randomUUID() }),
      }
    case 'openai':
      return {
        path: '/chat/completions',
        body: JSON.stringify({ model: id, stream: true, messages: [{ role: 'user', content: script }] }),
      }
    case 'a2a':
      return rpc('SendStreamingMessage', {
        message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: script }] },
      })
  }
}

/** Resumes like the protocol's own clients; undefined if they cannot. */
export function resume(protocol: Protocol, id: string, { run, session = '', index }: Viewed): Request | undefined {
  if (run === undefined || protocol === 'openai') return undefined
  if (protocol === 'a2a') return rpc('SubscribeToTask', { id: run })
  const last = index === undefined ? {} : { last_event_index: String(index) }
  return { path: `/agents/${id}/runs/${run}/resume`, body: new URLSearchParams({ session_id: session, ...last }) }
}

/** After the end. A2A has no stream then. */
export function lookBack(protocol: Protocol, id: string, viewed: Viewed): Request | undefined {
  if (protocol !== 'a2a') return resume(protocol, id, viewed)
  return viewed.run === undefined ? undefined : rpc('GetTask', { id: viewed.run })
}

function rpc(method: string, params: object): Request {
  return { path: '', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) }
}

export async function view(
  base: string,
  request: Request,
  headers: Readonly<Record<string, string>>,
  { leaveAfter = Infinity, patienceMs = 30_000, limitMs = 180_000, onWord }: ViewOptions = {},
): Promise<Seen> {
  const since = performance.now()
  const reading = new Reading()
  const leaving = new AbortController()
  let silence = setTimeout(() => leaving.abort(), patienceMs)
  const limit = setTimeout(() => leaving.abort(), limitMs)
  try {
    const type = typeof request.body === 'string' ? { 'content-type': 'application/json' } : {}
    const send = (): Promise<Response> =>
      fetch(base + request.path, {
        method: 'POST',
        body: request.body,
        headers: { accept: 'text/event-stream', 'a2a-version': '1.0', ...type, ...headers },
        signal: leaving.signal,
      })
    // A connection that was kept open may be that of a server which was killed since.
    const response = await send().catch(send)
    reading.run = response.headers.get('holdfast-run') ?? undefined
    if (!response.ok) reading.end = `HTTP ${response.status}`
    const isWhole = response.headers.get('content-type')?.startsWith('application/json') === true
    if (isWhole && response.ok) reading.push(`data: ${await response.text()}\n\n`)
    else
      for await (const piece of response.body ?? []) {
        clearTimeout(silence)
        silence = setTimeout(() => leaving.abort(), patienceMs)
        const before = reading.words.length
        reading.push(Buffer.from(piece).toString())
        if (reading.words.length > before) onWord?.(reading.words.length, reading)
        if (reading.words.length >= leaveAfter) leaving.abort()
      }
  } catch {
    const isLeaving = reading.words.length >= leaveAfter
    if (reading.end === undefined && !isLeaving) reading.end = leaving.signal.aborted ? 'silence' : 'cut'
  } finally {
    clearTimeout(silence)
    clearTimeout(limit)
  }
  const { words, run, session, index } = reading
  return { words, end: reading.end ?? 'end without a final event', run, session, index, ms: performance.now() - since }
}

interface Artifact {
  readonly parts: readonly { readonly text?: string }[]
}

interface Status {
  readonly status?: { readonly state?: string }
}

interface Task extends Status {
  readonly id: string
  readonly artifacts?: readonly Artifact[]
}

/** A frame of any of the protocols. */
interface Frame {
  readonly object?: string
  readonly choices?: readonly {
    readonly delta?: { readonly content?: unknown }
    readonly finish_reason?: string | null
  }[]
  readonly error?: unknown
  readonly event?: string
  readonly run_id?: string
  readonly session_id?: string
  readonly event_index?: number
  readonly content?: unknown
  readonly error_type?: string
  readonly jsonrpc?: string
  readonly result?: Partial<Task> & {
    readonly task?: Task
    readonly artifactUpdate?: { readonly taskId: string; readonly artifact: Artifact; readonly append?: boolean }
    readonly statusUpdate?: Status
  }
}

function nameOf(error: unknown): string {
  const { code, message } = (typeof error === 'object' && error !== null ? error : { message: error }) as {
    readonly code?: unknown
    readonly message?: unknown
  }
  return String(code ?? message)
}

class Reading {
  words: string[] = []
  end: string | undefined
  run: string | undefined
  session: string | undefined
  index: number | undefined
  #rest = ''

  push(text: string): void {
    const frames = (this.#rest + text).split(/\r?\n\r?\n/)
    this.#rest = frames.pop()!
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1]
      if (data !== undefined) this.#frame(data)
    }
  }

  #frame(data: string): void {
    if (data === '[DONE]') return
    const value = JSON.parse(data) as Frame
    if (value.choices !== undefined || value.object !== undefined) return this.#chunk(value)
    if (value.jsonrpc !== undefined) return this.#update(value)
    this.#event(value)
  }

  #chunk({ choices = [], error }: Frame): void {
    for (const { delta, finish_reason: finish } of choices) {
      this.#say(delta?.content)
      if (typeof finish === 'string') this.end = `finish_reason ${finish}${error === undefined ? '' : ' with an error'}`
    }
    if (error !== undefined && choices.length === 0) this.end = `error ${nameOf(error)}`
  }

  #event({
    event,
    error,
    run_id: run,
    session_id: session,
    event_index: index,
    content,
    error_type: type,
  }: Frame): void {
    if (error !== undefined && (event === undefined || event === 'error')) {
      this.end = `error ${nameOf(error)}`
      return
    }
    this.run ??= run
    this.session ??= session
    this.index = index ?? this.index
    // Whoever comes after the end gets the whole text at once.
    if (event === 'RunContent' || (event === 'RunCompleted' && this.words.length === 0)) this.#say(content)
    if (/^Run(Completed|Error|Cancelled|Paused)$/.test(event ?? ''))
      this.end ??= event === 'RunError' ? `RunError ${type ?? ''}`.trim() : event
  }

  #update({ result = {}, error }: Frame): void {
    const { artifactUpdate, statusUpdate } = result
    const task = result.status === undefined ? result.task : (result as Task)
    if (error !== undefined) {
      this.end = `error ${nameOf(error)}`
      return
    }
    this.run ??= task?.id ?? artifactUpdate?.taskId
    for (const { parts } of task?.artifacts ?? []) for (const { text } of parts) this.#say(text)
    for (const { text } of artifactUpdate?.artifact.parts ?? []) this.#say(text)
    const { state = '' } = (statusUpdate ?? task)?.status ?? {}
    if (/(COMPLETED|FAILED|CANCELED|REJECTED)$/.test(state)) this.end = state.replace('TASK_STATE_', '')
  }

  #say(text: unknown): void {
    if (typeof text === 'string') this.words.push(...text.split(' ').filter((word) => /^w\d+/.test(word)))
  }
}

/** Opens a stream and never reads it; returns a function that closes it. */
export function stall(url: string, { path, body }: Request, headers: Readonly<Record<string, string>>): () => void {
  const { hostname, port, pathname } = new URL(url + path)
  const text = String(body)
  const type = typeof body === 'string' ? 'application/json' : 'application/x-www-form-urlencoded'
  const socket = connect(Number(port), hostname)
  socket.pause()
  socket.on('error', () => {})
  const lines = {
    host: `${hostname}:${port}`,
    'content-type': type,
    'content-length': String(Buffer.byteLength(text)),
    'a2a-version': '1.0',
    ...headers,
  }
  socket.write(
    `POST ${pathname} HTTP/1.1\r\n${Object.entries(lines)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n${text}`,
  )
  return () => socket.destroy()
}
