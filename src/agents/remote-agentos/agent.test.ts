/** Components of a real AgentOS: agno's own server, with scripted models. */
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { answered, answeredElsewhere, dataOf, logOf, PATIENCE_MS } from '../../../test/support/adapters.ts'
import { openNode, textOf, typesOf } from '../../../test/support/node.ts'
import { ensurePython, PYTHON_INSTALL_MS, type PythonServer, startPythonServer } from '../../../test/support/python.ts'
import { freePort } from '../../../test/support/free-port.ts'
import { until } from '../../../test/support/until.ts'
import { World } from '../../../test/support/world.ts'
import type { Component } from '../../core/ports/component.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import { localPrincipal } from '../../core/model/principal.ts'
import type { Run } from '../../core/model/run.ts'
import { agentosProjection } from '../../protocols/agentos/view/projection.ts'
import { remoteAgentOs, type RemoteAgentOsDefinition } from './agent.ts'

const folder = join(import.meta.dirname, '../../../test/support/agno')
const WORDS = Array.from({ length: 20 }, (_, number) => `word${number} `).join('')
let agno: PythonServer

beforeAll(async () => {
  agno = await startPythonServer(await ensurePython(join(folder, 'requirements.txt')), [join(folder, 'server.py')])
}, 2 * PYTHON_INSTALL_MS)
afterAll(() => agno?.kill())

function remote(component: string, more: Partial<RemoteAgentOsDefinition> = {}): Component {
  return remoteAgentOs({ id: 'subject', url: agno.url, component, retryDelayMs: 20, ...more })
}

function outputOf(log: readonly LoggedEvent[]): unknown {
  return dataOf(log, 'run.completed')[0]?.output
}

/** A relay that records paths and cuts the first responses after `cuts` bytes each. */
async function relay(
  cuts: readonly number[],
  cut: 'break' | 'end',
): Promise<{ url: string; paths: string[]; bodies: string[] }> {
  const paths: string[] = []
  const bodies: string[] = []
  const server = createServer((incoming, outgoing) => {
    const allowed = cuts[paths.length]
    paths.push(incoming.url!)
    const { method, headers } = incoming
    const passed = httpRequest(agno.url + incoming.url, { method: method!, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      let bytes = 0
      let isCut = false
      answer.on('data', (chunk: Buffer) => {
        if (isCut) return
        bytes += chunk.length
        isCut = allowed !== undefined && bytes >= allowed
        // What was sent before the cut arrives: without it nobody knows which run to resume.
        outgoing.write(chunk, () => isCut && cut === 'break' && outgoing.destroy())
        if (!isCut) return
        answer.destroy()
        if (cut === 'end') outgoing.end()
      })
      answer.on('end', () => outgoing.end())
      answer.on('error', () => isCut || outgoing.destroy())
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
    incoming.on('data', (chunk: Buffer) => bodies.push(chunk.toString()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths, bodies }
}

/** Frames that our AgentOS client receives. */
function framesOf(log: readonly LoggedEvent[], kind: 'agent' | 'team' | 'workflow') {
  const projection = agentosProjection((id) => ({ kind, name: id }))
  const { run: id, time: createdAt } = log[0]!
  const run = {
    id,
    component: 'subject',
    session: 's',
    createdAt,
    owner: 'o',
    status: 'queued',
    updatedAt: createdAt,
    attempt: 0,
  }
  let state = projection.initial(run as Run)
  return log.flatMap((event) => {
    const next = projection.apply(state, event)
    state = next.state
    return next.frames
  })
}

describe('remote AgentOS: output', () => {
  test('is streamed as text, and its content is the output', async () => {
    const log = await logOf(remote('story'))
    expect(dataOf(log, 'text.delta')).toHaveLength(20)
    expect([textOf(log), outputOf(log)]).toEqual([WORDS, WORDS])
    expect(dataOf(log, 'model.responded')).toMatchObject([{ model: 'scripted' }])
  })

  test('has tools with their results and their failures', async () => {
    const log = await logOf(remote('look'))
    expect(dataOf(log, 'tool.called')).toMatchObject([{ call: 'call-look', name: 'look', input: { city: 'Bergen' } }])
    expect(dataOf(log, 'tool.completed')).toMatchObject([{ call: 'call-look', output: 'rain in Bergen' }])
    expect(outputOf(log)).toBe('got rain in Bergen')
    expect(dataOf(await logOf(remote('fall')), 'tool.failed')).toMatchObject([{ name: 'fall' }])
  })

  test('a team’s members are steps, and its own answer is text', async () => {
    const log = await logOf(remote('team', { kind: 'team' }))
    expect(dataOf(log, 'step.completed').map(({ name }) => name)).toContain('member')
    expect(textOf(log)).toMatch(/^the member said: /)
    expect(outputOf(log)).toBe(textOf(log))
  })

  test('a workflow’s steps are steps of the run', async () => {
    const log = await logOf(remote('flow', { kind: 'workflow' }), 'hello')
    expect(dataOf(log, 'step.completed').map(({ name }) => name)).toContain('first')
    expect(outputOf(log)).toBe('echo hello')
    const steps = framesOf(log, 'workflow').filter(({ event }) => event === 'StepStarted')
    expect(steps.map(({ data }) => data['step_name'])).toEqual(['first'])
  })

  test('forwards the caller’s user, state, dependencies and metadata', async () => {
    const { url, bodies } = await relay([], 'break')
    const node = openNode({ components: [remote('look', { url })] })
    const { stored } = await node.service.start(localPrincipal, {
      component: 'subject',
      input: 'hello',
      protocol: 'agentos',
      session: 'forwarded',
      metadata: {
        team: 'blue',
        agentos: { user_id: 'ann', session_state: { seen: 3 }, dependencies: { city: 'Bergen' }, run_id: 'mine' },
      },
    })
    const log = await node.ended(stored.run.id, PATIENCE_MS)
    expect(log.at(-1)?.type).toBe('run.completed')
    const sent = new URLSearchParams(bodies[0])
    expect([sent.get('user_id'), sent.get('session_state'), sent.get('dependencies'), sent.get('metadata')]).toEqual([
      'ann',
      '{"seen":3}',
      '{"city":"Bergen"}',
      '{"team":"blue"}',
    ])
    expect([sent.get('run_id'), sent.get('session_id')]).toEqual([stored.run.id, 'forwarded'])
    const session = await fetch(`${agno.url}/sessions/forwarded?type=agent&user_id=ann`)
    expect(await session.json()).toMatchObject({ user_id: 'ann', session_state: { seen: 3 } })
  })
})

describe('remote AgentOS: questions', () => {
  test.for([
    [true, 'got sent 25'],
    [{ approved: false, reason: 'too much' }, 'got '],
  ] as const)('a tool that needs confirmation asks a question: %j', async ([answer, expected]) => {
    const log = await answered(remote('send'), answer)
    expect(dataOf(log, 'run.paused')[0]!.questions).toMatchObject([
      { kind: 'approval', details: { tool: 'send', input: { amount: 25 } } },
    ])
    expect(outputOf(log)).toContain(expected)
    expect(String(outputOf(log)).includes('sent 25')).toBe(answer === true)
  })

  test('a tool that the caller executes and a tool that needs input ask questions', async () => {
    expect(outputOf(await answered(remote('locate'), 'Bergen'))).toBe('got Bergen')
    const log = await answered(remote('greet'), { name: 'Ada' })
    expect(dataOf(log, 'run.paused')[0]!.questions).toMatchObject([
      { kind: 'input', schema: { properties: { name: { type: 'string' } } } },
    ])
    expect(outputOf(log)).toBe('got hello Ada')
  })

  test('[RUN-1] survive their process', async () => {
    const log = await answeredElsewhere(() => remote('send'), true)
    expect(outputOf(log)).toBe('got sent 25')
    expect(typesOf(log)).not.toContain('attempt.discarded')
  })
})

describe('remote AgentOS: failures', () => {
  test('[RUN-3] a run that fails there fails here, and its text stays', async () => {
    const log = await logOf(remote('failing'))
    expect(dataOf(log, 'run.failed')).toMatchObject([{ error: { code: 'agent_failed', message: 'no model today' } }])
    expect(textOf(log)).toBe('half ')
  })

  test.for(['break', 'end'] as const)(
    '[RUN-3] a stream that is cut (%s) is resumed, twice, without a gap',
    async (cut) => {
      const { url, paths } = await relay([1500, 1500], cut)
      const log = await logOf(remote('story', { url }))
      expect([textOf(log), outputOf(log)]).toEqual([WORDS, WORDS])
      expect(paths.filter((path) => path.endsWith('/resume'))).toHaveLength(2)
      expect(paths.filter((path) => path.endsWith('/runs'))).toHaveLength(1)
    },
  )

  test('a run that is not stored there is lost with its connection, and fails', async () => {
    const { url } = await relay([1500], 'break')
    const log = await logOf(remote('unkept', { url, background: false, retries: 2 }))
    expect(log.at(-1)?.type).toBe('run.failed')
  })

  test('[RUN-1] a run whose process dies continues with the same remote run, and nothing is retracted', async () => {
    const { url, paths } = await relay([], 'break')
    const world = new World(remote('story', { url }))
    const id = await world.orphan(3, 'hello')
    const log = await world.worker().ended(id, PATIENCE_MS)
    expect([textOf(log), outputOf(log)]).toEqual([WORDS, WORDS])
    expect(typesOf(log)).not.toContain('attempt.discarded')
    expect(paths.filter((path) => path.endsWith('/runs'))).toHaveLength(1)
    expect(paths.filter((path) => path.includes('/cancel'))).toHaveLength(0)
  })

  test('[RUN-2] a stop cancels the remote run', async () => {
    const { url, paths } = await relay([], 'break')
    const node = openNode({ components: [remote('endless', { url })], limits: { stopGraceMs: 10_000 } })
    const id = await node.start('subject', 'hello')
    await node.emitted(id, 'text.delta')
    await node.stop(id)
    expect((await node.ended(id, PATIENCE_MS)).at(-1)?.type).toBe('run.cancelled')
    await until('the run was cancelled there', () => paths.some((path) => path.includes('/cancel')))
  })

  test('a run that stays RUNNING there without events fails after a few polls', async () => {
    const asked: string[] = []
    const server = createServer((incoming, outgoing) => {
      const path = incoming.url!.replace(/\?.*/, '').replace(/run_\w+/, 'R')
      asked.push(path)
      if (incoming.method === 'GET') return outgoing.end('{"status":"RUNNING"}')
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      if (path.endsWith('/runs')) outgoing.write('data: {"event":"RunStarted","run_id":"R","event_index":0}\n\n')
      outgoing.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => server.close().closeAllConnections())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const log = await logOf(remote('story', { url }))
    expect(dataOf(log, 'run.failed')).toMatchObject([{ error: { code: 'upstream_stalled' } }])
    expect(asked.filter((path) => path.endsWith('/resume'))).toHaveLength(3)
  })

  test('a missing component and a server that does not respond fail the run', async () => {
    const failureOf = async (component: Component) => dataOf(await logOf(component), 'run.failed')[0]!.error
    expect(await failureOf(remote('nobody'))).toMatchObject({ code: 'upstream_http_error', details: { status: 404 } })
    const absent = remote('story', { url: 'http://127.0.0.1:1', retries: 1 })
    expect(await failureOf(absent)).toMatchObject({ code: 'upstream_unreachable', retryable: true })
    // With the default first delay of 250 ms these tries take less than 8 seconds.
    const dead = remote('story', { url: `http://127.0.0.1:${await freePort()}` })
    expect(await failureOf(dead)).toMatchObject({ code: 'upstream_unreachable', details: { tries: 6 } })
  })
})
