/** Requests whose responses the golden files hold, by protocol. */
import { RESUME_EXTENSION } from '../../src/a2a/resume.ts'
import { isTerminal } from '../../src/core/model/event.ts'
import type { ComponentKind } from '../../src/core/ports/component.ts'
import { goldenComponents } from './components.ts'
import type { GoldenWorld } from './world.ts'

export const protocols = ['agentos', 'chat', 'responses', 'a2a', 'ai-sdk', 'ag-ui'] as const
export type GoldenProtocol = (typeof protocols)[number]

const kinds = new Map<string, ComponentKind>(goldenComponents().map(({ id, kind }) => [id, kind]))

export function runOf({ log }: GoldenWorld, protocol: GoldenProtocol): string {
  return `run_${log.name}-${protocol}`
}

function agentosRuns({ url, log }: GoldenWorld): string {
  return `${url}/${kinds.get(log.component)}s/${log.component}/runs`
}

export function startAgentos(world: GoldenWorld): Promise<Response> {
  const body = new URLSearchParams({ message: world.log.input as string, stream: 'true' })
  return fetch(agentosRuns(world), { method: 'POST', body })
}

export function resumeAgentos(world: GoldenWorld, last?: number): Promise<Response> {
  const body = new URLSearchParams(last === undefined ? {} : { last_event_index: String(last) })
  return fetch(`${agentosRuns(world)}/${runOf(world, 'agentos')}/resume`, { method: 'POST', body })
}

/** The key makes a repeated request show the same run. */
export function chat(
  { url, log }: GoldenWorld,
  { usage = true, progress = false }: { readonly usage?: boolean; readonly progress?: boolean } = {},
): Promise<Response> {
  return post(
    `${url}/v1/chat/completions`,
    {
      model: log.component,
      messages: [{ role: 'user', content: log.input }],
      stream: true,
      stream_options: { include_usage: usage },
    },
    { 'idempotency-key': `${log.name}-chat`, ...(progress && { 'holdfast-progress': 'tools' }) },
  )
}

export function startResponse({ url, log }: GoldenWorld): Promise<Response> {
  return post(`${url}/v1/responses`, { model: log.component, input: log.input, stream: true })
}

export function getResponse(world: GoldenWorld, { part = 0, after }: { part?: number; after?: number }) {
  const tail = runOf(world, 'responses').replace('run_', '')
  const query = after === undefined ? '' : `&starting_after=${after}`
  return fetch(`${world.url}/v1/responses/resp_${tail}${part === 0 ? '' : `_${part}`}?stream=true${query}`)
}

function uiMessage({ log }: GoldenWorld): object {
  return { id: `u-${log.name}`, role: 'user', parts: [{ type: 'text', text: log.input }] }
}

export function startAiSdk(world: GoldenWorld): Promise<Response> {
  return post(aiSdk(world), { id: `chat-${world.log.name}`, messages: [uiMessage(world)], trigger: 'submit-message' })
}

/** The stream of the run from a chunk on, or the replay of its newest message. */
export function resumeAiSdk(world: GoldenWorld, startIndex?: number): Promise<Response> {
  const query = startIndex === undefined ? '' : `?startIndex=${startIndex}`
  return fetch(`${aiSdk(world)}/${runOf(world, 'ai-sdk')}/stream${query}`)
}

function aiSdk({ url, log }: GoldenWorld): string {
  return `${url}/ai/${log.component}/chat`
}

function agUiMessage({ log }: GoldenWorld): object {
  return { id: `u-${log.name}`, role: 'user', content: log.input }
}

export function startAgUi(world: GoldenWorld): Promise<Response> {
  const { url, log } = world
  const named = { threadId: `thread-${log.name}`, runId: `r-${log.name}` }
  return post(`${url}/ag-ui/${log.component}`, { ...named, messages: [agUiMessage(world)] })
}

/** A stream of AG-UI without the messages of its client, which snapshots repeat. */
export function withoutClientMessages(world: GoldenWorld, text: string): string {
  return text.replaceAll(
    new RegExp(`"messages":\\[${RegExp.escape(JSON.stringify(agUiMessage(world)))},?`, 'g'),
    '"messages":[',
  )
}

/** All events of the run: a stream ends at each pause, and is resumed there. */
export async function replayAgUi(world: GoldenWorld): Promise<string> {
  const { url, log } = world
  const ends = log.events.filter(({ type }) => type === 'run.paused' || isTerminal(type)).length
  let whole = ''
  for (let end = 0; end < ends; end++) {
    const last = [...whole.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1]
    const headers = last === undefined ? {} : { 'last-event-id': last }
    const response = await fetch(`${url}/ag-ui/${log.component}/runs/${runOf(world, 'ag-ui')}/events`, { headers })
    if (response.status === 204) break
    const text = await response.text()
    whole += whole === '' ? text : text.replace(': open\n\n', '')
  }
  return whole
}

const current = { 'a2a-version': '1.0' }
const resuming = { ...current, 'a2a-extensions': RESUME_EXTENSION }

function message({ log }: GoldenWorld): object {
  return { messageId: `m-${log.name}`, role: 'ROLE_USER', parts: [{ text: log.input }] }
}

export function sendA2a(world: GoldenWorld, { positions = false } = {}): Promise<Response> {
  const params = { message: message(world) }
  return rpc(world, 'SendStreamingMessage', params, positions ? resuming : current)
}

export function sendWithoutHistory(world: GoldenWorld): Promise<Response> {
  const params = { message: message(world), configuration: { historyLength: 0 } }
  return rpc(world, 'SendStreamingMessage', params, current)
}

export function sendRest(world: GoldenWorld): Promise<Response> {
  return post(`${world.url}/a2a/${world.log.component}/message:stream`, { message: message(world) }, current)
}

export function sendLegacy(world: GoldenWorld): Promise<Response> {
  const { input, name } = world.log
  const sent = { messageId: `m-${name}`, kind: 'message', role: 'user', parts: [{ kind: 'text', text: input }] }
  return rpc(world, 'message/stream', { message: sent }, { 'a2a-version': '0.3' })
}

/** Subscribes to the task, optionally after a position. */
export function subscribeA2a(world: GoldenWorld, after?: number | string): Promise<Response> {
  const headers = after === undefined ? current : { ...resuming, 'last-event-id': String(after) }
  return rpc(world, 'SubscribeToTask', { id: runOf(world, 'a2a') }, headers)
}

function rpc(
  { url, log }: GoldenWorld,
  method: string,
  params: object,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  return post(`${url}/a2a/${log.component}`, { jsonrpc: '2.0', id: 7, method, params }, headers)
}

function post(url: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  const json = { 'content-type': 'application/json' }
  return fetch(url, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })
}
