/** A server and a client of AgentOS for tests: sends forms and reads frames, like agno's own clients. */
import { expect } from 'vitest'
import type { Component } from '../../../src/core/ports/component.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import type { Server, ServerOptions } from '../../../src/server/create-server.ts'
import { labComponents } from '../../../src/agents/lab/kinds.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { serveInProcess } from '../../support/in-process.ts'
import { components as ownComponents } from './components.ts'

export interface AgentOsServer extends Server {
  readonly store: Store
}

export interface AgentOsServeOptions extends Partial<Omit<ServerOptions, 'store' | 'components'>> {
  readonly store?: Store
  readonly components?: readonly Component[]
}

export async function serveAgentOs({
  store = createMemoryStore(),
  components = [],
  ...options
}: AgentOsServeOptions = {}): Promise<AgentOsServer> {
  const server = await serveInProcess({
    ...options,
    store,
    components: [...labComponents(), ...ownComponents, ...components],
    limits: { retryDelayMs: 20, stopGraceMs: 50, drainTimeoutMs: 0, ...options.limits },
  })
  return { ...server, store }
}

export interface Seen {
  readonly id: string | undefined
  readonly event: string
  readonly data: Readonly<Record<string, unknown>>
  /** As it came. */
  readonly text: string
}

/** The frames of a text, split as agno's own clients split it: at blank lines, by literal prefixes. */
export function framesIn(text: string): Seen[] {
  return text.split('\n\n').flatMap((frame) => {
    const lines = frame.split('\n')
    const data = lines.find((line) => line.startsWith('data: '))
    if (data === undefined) return []
    const field = (name: string): string | undefined =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
    return [
      {
        id: field('id'),
        event: field('event') ?? '',
        data: JSON.parse(data.slice(6)) as Record<string, unknown>,
        text: `${frame}\n\n`,
      },
    ]
  })
}

export interface FormOptions {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export function postForm(
  server: Pick<Server, 'url'>,
  path: string,
  fields: Readonly<Record<string, string>> | FormData,
  { token, headers, signal }: FormOptions = {},
): Promise<Response> {
  return fetch(server.url + path, {
    method: 'POST',
    body: fields instanceof FormData ? fields : new URLSearchParams(fields),
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
    ...(signal !== undefined && { signal }),
  })
}

/** The frames of a stream, read to its end. */
export async function stream(
  server: Pick<Server, 'url'>,
  path: string,
  fields: Readonly<Record<string, string>> | FormData,
  options: FormOptions = {},
): Promise<Seen[]> {
  const response = await postForm(server, path, fields, options)
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  return framesIn(await response.text())
}

/** The first frames of a stream, which is then cut. */
export async function cutAfter(
  server: Pick<Server, 'url'>,
  path: string,
  fields: Readonly<Record<string, string>>,
  count: number,
): Promise<Seen[]> {
  const controller = new AbortController()
  const response = await postForm(server, path, fields, { signal: controller.signal })
  let text = ''
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      if (framesIn(text.slice(0, text.lastIndexOf('\n\n') + 2)).length >= count) break
    }
  } finally {
    controller.abort()
  }
  return framesIn(text.slice(0, text.lastIndexOf('\n\n') + 2)).slice(0, count)
}

export const META = ['catch_up', 'replay', 'subscribed', 'error', 'stream_expired']

/** Without the frames that are about the stream. */
export function dataOf(frames: readonly Seen[]): Seen[] {
  return frames.filter(({ data }) => !META.includes(String(data['event'])))
}

export function namesOf(frames: readonly Seen[]): string[] {
  return frames.map(({ data }) => String(data['event']))
}

export function indicesOf(frames: readonly Seen[]): unknown[] {
  return dataOf(frames).map(({ data }) => data['event_index'])
}

/** 0, 1, 2 … */
export function upTo(count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, index) => from + index)
}

export interface JsonAnswer {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- each test knows what it asked for
  readonly body: any
}

export async function getJson(server: Pick<Server, 'url'>, path: string, init: RequestInit = {}): Promise<JsonAnswer> {
  const response = await fetch(server.url + path, init)
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

/** The same with a JSON body. */
export function sendJson(
  server: Pick<Server, 'url'>,
  method: string,
  path: string,
  body: unknown,
): Promise<JsonAnswer> {
  const headers = { 'content-type': 'application/json' }
  return getJson(server, path, { method, headers, body: JSON.stringify(body) })
}

/** A run's own ids, from its first frame, as agno's clients find them. */
export function idsOf(frames: readonly Seen[]): { readonly run: string; readonly session: string } {
  const { run_id: run, session_id: session } = dataOf(frames)[0]!.data
  return { run: String(run), session: String(session) }
}
