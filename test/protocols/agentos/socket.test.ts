/** The WebSockets of the families: one framing, and the guarantees of `/resume`. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import type { Server } from '../../../src/server/create-server.ts'
import { until } from '../../support/until.ts'
import { idsOf, postForm, serveAgentOs, stream, upTo } from './serve.ts'

type Message = Readonly<Record<string, unknown>>

class Client {
  readonly messages: Message[] = []
  readonly socket: WebSocket
  readonly closed: Promise<number>

  constructor(server: Pick<Server, 'url'>, path: string, headers: Record<string, string> = {}) {
    this.socket = new WebSocket(server.url.replace('http', 'ws') + path, { headers })
    this.socket.on('message', (data) => this.messages.push(JSON.parse((data as Buffer).toString()) as Message))
    this.socket.on('error', () => {})
    this.closed = new Promise((resolve) => this.socket.on('close', (code) => resolve(code)))
    onTestFinished(() => this.socket.terminate())
  }

  async open(): Promise<this> {
    await this.seen('connected')
    return this
  }

  send(message: object): void {
    this.socket.send(JSON.stringify(message))
  }

  /** The first message of a name. */
  seen(event: string | RegExp): Promise<Message> {
    const fits = (message: Message): boolean =>
      typeof event === 'string' ? message['event'] === event : event.test(String(message['event']))
    return until(`${String(event)} was seen`, () => this.messages.find(fits))
  }

  get events(): string[] {
    return this.messages.map((message) => String(message['event']))
  }

  get indices(): unknown[] {
    return this.messages.flatMap((message) => (message['event_index'] === undefined ? [] : [message['event_index']]))
  }
}

const families = [
  { kind: 'agent', path: '/agents/ws', idField: 'agent_id', component: 'lab', done: 'RunCompleted' },
  { kind: 'team', path: '/teams/ws', idField: 'team_id', component: 'lab-team', done: 'TeamRunCompleted' },
  {
    kind: 'workflow',
    path: '/workflows/ws',
    idField: 'workflow_id',
    component: 'lab-workflow',
    done: 'WorkflowCompleted',
  },
] as const

for (const { kind, path, idField, component, done } of families) {
  test(`AgentOS WebSocket: a ${kind} is started and followed, and its events are those of the stream`, async () => {
    const server = await serveAgentOs()
    const client = await new Client(server, path).open()
    expect(client.messages[0]).toEqual({ event: 'connected', message: 'Connected to AgentOS.', requires_auth: false })
    client.send({ action: 'ping' })
    await client.seen('pong')
    client.send({ action: `start-${kind}`, [idField]: component, message: 'text 3', session_id: 's' })
    const last = await client.seen(done)
    expect(client.indices).toEqual(upTo(client.indices.length))
    const replay = await stream(
      server,
      `${path.replace('/ws', '')}/${component}/runs/${String(last['run_id'])}/resume`,
      {},
    )
    expect(client.messages.slice(2)).toEqual(replay.slice(1).map(({ data }) => data))
  })
}

describe('AgentOS WebSocket: reconnecting', () => {
  test('sends what was missed, then new events, to every connection that asks', async () => {
    const server = await serveAgentOs()
    const first = await new Client(server, '/workflows/ws').open()
    first.send({ action: 'start-workflow', workflow_id: 'lab-workflow', message: 'text 5; hang' })
    await until('it speaks', () => first.indices.length >= 8)
    const run = String(first.messages[1]!['run_id'])
    const others = await Promise.all([1, 2].map(() => new Client(server, '/workflows/ws').open()))
    for (const other of others)
      other.send({ action: 'reconnect', run_id: run, workflow_id: 'lab-workflow', last_event_index: 2 })
    for (const other of others) await other.seen('subscribed')
    await postForm(server, `/workflows/lab-workflow/runs/${run}/cancel`, {})
    for (const client of [first, ...others]) await client.seen('WorkflowCancelled')
    for (const other of others) {
      expect(other.events.slice(0, 2)).toEqual(['connected', 'catch_up'])
      expect(other.indices).toEqual(upTo(other.indices.length, 3))
      expect(other.indices.at(-1)).toBe(first.indices.at(-1))
    }
  })

  test('replays a finished run after the index, and reports an unknown run', async () => {
    const server = await serveAgentOs()
    const live = await stream(server, '/workflows/publish/runs', { message: 'kelp' })
    const { run } = idsOf(live)
    const client = await new Client(server, '/workflows/ws').open()
    client.send({ action: 'reconnect', run_id: run, last_event_index: live.length - 3 })
    await client.seen('WorkflowCompleted')
    expect(client.events.slice(1)).toEqual(['replay', ...live.slice(-2).map(({ event }) => event)])
    for (const wrong of [
      { run_id: 'nothing' },
      { run_id: run, workflow_id: 'lab-workflow' },
      { run_id: run, session_id: 'another' },
    ]) {
      const before = client.messages.length
      client.send({ action: 'reconnect', ...wrong })
      await until('it is refused', () => client.messages.length > before)
      expect(client.messages.at(-1)).toEqual({
        event: 'error',
        error: `Run ${wrong.run_id} not found in buffer or database`,
      })
    }
  })
})

test('AgentOS WebSocket: a paused workflow is continued', async () => {
  const server = await serveAgentOs()
  const client = await new Client(server, '/workflows/ws').open()
  client.send({ action: 'start-workflow', workflow_id: 'gated', message: 'a walk' })
  const paused = await client.seen('WorkflowPaused')
  const [requirement] = paused['step_requirements'] as object[]
  client.send({
    action: 'continue-workflow',
    workflow_id: 'gated',
    run_id: paused['run_id'],
    step_requirements: [{ ...requirement, confirmed: true }],
  })
  await until('it waits again', () => client.events.filter((name) => name === 'WorkflowPaused').length === 2)
  expect(client.indices).toEqual(upTo(client.indices.length))
})

test('AgentOS WebSocket: an invalid message gets an error, and the connection stays open', async () => {
  const server = await serveAgentOs()
  const client = await new Client(server, '/workflows/ws').open()
  client.socket.send('not json')
  client.send({ action: 'dance' })
  client.send({ action: 'start-workflow', workflow_id: 'nobody', message: 'x' })
  client.send({ action: 'start-workflow', workflow_id: 'lab-workflow', message: 'no such statement' })
  client.send({ action: 'reconnect' })
  await until('all were answered', () => client.messages.length === 6)
  expect(client.messages.slice(1).map((message) => message['error'])).toEqual([
    expect.stringContaining('the message is not JSON'),
    'Unknown action: dance',
    'Workflow nobody not found',
    expect.stringContaining('character'),
    'run_id is required for reconnection',
  ])
})

describe('AgentOS WebSocket: a server with authentication', () => {
  test('requires a key first, and limits the number of attempts', async () => {
    const server = await serveAgentOs({
      auth: { securityKey: 'open-sesame-and-close' },
    })
    const client = await new Client(server, '/agents/ws').open()
    expect(client.messages[0]).toMatchObject({ requires_auth: true })
    client.send({ action: 'start-agent', agent_id: 'lab', message: 'text 1' })
    await client.seen('auth_required')
    client.send({ action: 'authenticate', token: 'wrong' })
    await client.seen('auth_error')
    client.send({ action: 'authenticate', token: 'open-sesame-and-close' })
    await client.seen('authenticated')
    client.send({ action: 'start-agent', agent_id: 'lab', message: 'text 1' })
    await client.seen('RunCompleted')
    const guessing = await new Client(server, '/agents/ws').open()
    for (const guess of upTo(10)) guessing.send({ action: 'authenticate', token: `guess ${guess}` })
    expect(await guessing.closed).toBe(1008)
    expect(guessing.events.filter((name) => name === 'auth_error').length).toBeLessThanOrEqual(5)
  })
})

test('AgentOS WebSocket: a page of another origin cannot connect unless its origin is configured', async () => {
  const origin = 'https://ui.example'
  const strict = await serveAgentOs()
  const refused = new Client(strict, '/workflows/ws', { origin })
  expect(await refused.closed).toBe(1006)
  const open = await serveAgentOs({ corsOrigins: [origin] })
  await new Client(open, '/workflows/ws', { origin }).open()
  const nowhere = new Client(strict, '/nowhere/ws')
  expect(await nowhere.closed).toBe(1006)
})

test('[SUB-1] AgentOS WebSocket: a client that does not read delays no other, and gets everything when it reads again', async () => {
  const server = await serveAgentOs({ limits: { subscriberStallTimeoutMs: 600_000 } })
  const client = await new Client(server, '/agents/ws').open()
  client.socket.pause()
  client.send({
    action: 'start-agent',
    agent_id: 'lab',
    message: 'big 2000; big 2000; big 2000; big 2000; text 3',
    session_id: 's',
  })
  const run = await until('the run is over', async () => {
    const { runs } = await server.service.list({ id: 'local' }, { session: 's' })
    return runs[0]?.run.status === 'completed' && runs[0].run.id
  })
  client.socket.resume()
  await client.seen('RunCompleted')
  expect(client.indices).toEqual(upTo(client.indices.length))
  expect(client.messages.at(-1)!['run_id']).toBe(run)
})

test('AgentOS WebSocket: a server that shuts down tells its clients where to resume', async () => {
  const server = await serveAgentOs()
  const client = await new Client(server, '/agents/ws').open()
  client.send({ action: 'start-agent', agent_id: 'lab-resume', message: 'text 1; hang' })
  await client.seen('RunContent')
  await server.close()
  expect(await client.closed).toBe(1001)
  expect(client.messages.at(-1)).toMatchObject({ event: 'stream_expired', message: expect.stringContaining('Resume') })
})
