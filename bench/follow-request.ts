/** Requests that start or follow a run, by protocol. */
import { randomUUID } from 'node:crypto'
import { RESUME_EXTENSION } from '../src/a2a/resume.ts'
import type { Work } from './agent.ts'
import type { FollowProtocol, StartProtocol } from './messages.ts'

/** `after`: position of the last event that the client has, in the protocol's numbering. Default: none. */
export function followRequest(run: string, protocol: FollowProtocol, after?: number): string {
  switch (protocol) {
    case 'native':
      return get(`/runs/${run}/events`, after === undefined ? '' : `last-event-id: ${after}\r\n`)
    case 'agentos':
      return get(`/agents/bench/runs/${run}/resume${after === undefined ? '' : `?last_event_index=${after}`}`)
    case 'responses': {
      const query = after === undefined ? '' : `&starting_after=${after}`
      return get(`/v1/responses/${run.replace('run_', 'resp_')}?stream=true${query}`)
    }
    case 'a2a': {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: run } })
      const resuming =
        after === undefined ? '' : `a2a-extensions: ${RESUME_EXTENSION}\r\nlast-event-id: ${after};kept\r\n`
      const json = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`
      return `POST /a2a/bench HTTP/1.1\r\n${HEAD}a2a-version: 1.0\r\n${json}${resuming}\r\n${body}`
    }
  }
}

const HEAD = 'host: 127.0.0.1\r\naccept: text/event-stream\r\nconnection: close\r\n'

function get(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\n${HEAD}${headers}\r\n`
}

export function startBody(input: Work, keep: boolean): string {
  return JSON.stringify({ component: 'bench', input, metadata: { keep } })
}

/** Starts a run and streams it. */
export function startRequest(work: Work, protocol: StartProtocol, body = startBody(work, false)): string {
  switch (protocol) {
    case 'native':
      return post('/runs', 'application/json', body)
    case 'agentos': {
      const form = new URLSearchParams({ message: JSON.stringify(work), stream: 'true' })
      return post('/agents/bench/runs', 'application/x-www-form-urlencoded', form.toString())
    }
    case 'chat': {
      const messages = [{ role: 'user', content: JSON.stringify(work) }]
      return post(
        '/v1/chat/completions',
        'application/json',
        JSON.stringify({ model: 'bench', stream: true, messages }),
      )
    }
    case 'ai-sdk': {
      const parts = [{ type: 'text', text: JSON.stringify(work) }]
      return post(
        '/ai/bench/chat',
        'application/json',
        JSON.stringify({ id: randomUUID(), messages: [{ id: 'asked', role: 'user', parts }] }),
      )
    }
    case 'a2a': {
      const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: JSON.stringify(work) }] }
      const call = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } }
      return post('/a2a/bench', 'application/json', JSON.stringify(call), 'a2a-version: 1.0\r\n')
    }
  }
}

function post(path: string, contentType: string, body: string, headers = ''): string {
  return `POST ${path} HTTP/1.1\r\n${HEAD}${headers}content-type: ${contentType}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

/** Position of the event before a text, in a log that has `run.created` and then nothing but texts. */
export function positionBefore(text: number, protocol: FollowProtocol): number {
  switch (protocol) {
    case 'native':
    case 'a2a':
      return text
    case 'agentos':
      return text - 1
    case 'responses':
      // `response.created`, then the item and its part; then the texts.
      return text + 2
  }
}
