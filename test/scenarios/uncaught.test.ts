/** Errors of an agent outside of its run do not end the process, in a command-line server and an embedded one. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isOwnDefect } from '../../src/cli/serving/uncaught-errors.ts'
import { drained, states, stream } from '../protocols/a2a/serve.ts'
import { answerRun, call, readEvents, startRun, stopRun, untilFinished, untilStatus } from '../support/http.ts'
import { type ServerProcess, startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { kinds } from './uncaught/agents.ts'

const folder = join(import.meta.dirname, 'uncaught')

function serve(): Promise<ServerProcess> {
  return startServer({ store: temporaryDatabase(), command: ['serve', join(folder, 'agents.ts')] })
}

/** A program that reads no options gets the same ones. */
function embed(): Promise<ServerProcess> {
  return startServer({
    store: temporaryDatabase(),
    wrap: ([node]) => [node!, join(folder, 'embedded.ts')],
  })
}

describe.each([
  ['holdfast serve', serve],
  ['an embedded server', embed],
])('%s', (_name, open) => {
  test('an uncaught error of an agent fails its run and no other', async () => {
    const server = await open()
    const bystander = await startRun(server, '200', { component: 'counter' })
    for (const kind of kinds.filter((name) => name !== 'abort listener')) {
      const { id } = await startRun(server, kind, { component: 'blunderer' })
      const { status, error } = await untilFinished(server, id)
      expect({ kind, status, code: error?.code }).toEqual({ kind, status: 'failed', code: 'agent_failed' })
      expect(error?.message).toMatch(/^(uncaught exception|unhandled rejection): /)
      expect(error?.message).toContain(`boom in ${kind}`)
      const line = await until(`the log has the error of ${id}`, () => lineOf(server, id))
      expect(line).toMatch(kind === 'no error' ? /blunderer/ : /blunderer.*agents\.ts:\d+/)
    }
    expect((await untilFinished(server, bystander.id)).status).toBe('completed')
    expect((await readEvents(server, bystander.id)).filter(({ type }) => type === 'text.delta')).toHaveLength(200)
  })

  test('[O-10] A2A: an uncaught error in background work ends the stream as failed, with its message', async () => {
    const server = await open()
    for (const kind of kinds.filter((name) => name !== 'abort listener')) {
      const opened = stream(`${server.url}/a2a/blunderer`, kind)
      const updates = await drained(opened)
      expect({ kind, ended: await opened.ended, state: states(updates).at(-1) }).toEqual({
        kind,
        ended: 'closed',
        state: 'FAILED',
      })
      expect(JSON.stringify(updates.at(-1)!.statusUpdate!.status.message)).toContain(`boom in ${kind}`)
    }
  })

  test('an abort listener that throws does not change the run’s outcome', async () => {
    const server = await open()
    const { id } = await startRun(server, 'abort listener', { component: 'blunderer' })
    const json = { headers: { accept: 'application/json' } }
    await until('the agent has begun', async () =>
      JSON.stringify((await call(server, 'GET', `/runs/${id}/events`, json)).body).includes('begun'),
    )
    await stopRun(server, id)
    expect((await untilFinished(server, id)).status).toBe('cancelled')
    await until('the log has the error', () => lineOf(server, id)?.includes('boom in abort listener'))
    expect((await call(server, 'GET', '/health')).status).toBe(200)
  })

  test('an agent that throws while its run is paused is rebuilt from the log by the answer', async () => {
    const server = await open()
    const { id } = await startRun(server, 'x', { component: 'asker' })
    await untilStatus(server, id, ['paused'])
    await startRun(server, 'x', { component: 'poker' })
    await until('the log has the error', () => lineOf(server, id)?.includes('boom in paused agent'))
    await answerRun(server, id, 7)
    expect((await untilFinished(server, id)).status).toBe('completed')
    expect(JSON.stringify(await readEvents(server, id))).toContain('answered 7')
  })
})

test.each(['rejection', 'exception'])(
  'holdfast serve logs an uncaught %s of a module and keeps serving',
  async (kind) => {
    const server = await serve()
    const { id } = await startRun(server, kind, { component: 'outsider' })
    expect((await untilFinished(server, id)).status).toBe('completed')
    await until(
      'the log has the error',
      () => /outside of any run.*/.test(server.stderr) && server.stderr.includes('boom'),
    )
    expect((await call(server, 'GET', '/health')).status).toBe(200)
  },
)

test.each(['rejection', 'exception'])(
  'an embedded server leaves an uncaught %s of other code to Node',
  async (kind) => {
    const server = await embed()
    await startRun(server, kind, { component: 'outsider' })
    expect(await server.exited).toEqual({ code: 1, signal: null })
    expect(server.stderr).toMatch(/Error: boom/)
  },
)

test('an uncaught error counts as a bug in Holdfast only if all of its frames are Holdfast’s', () => {
  const at = (...files: string[]): Error =>
    Object.assign(new Error('x'), { stack: ['Error: x', ...files.map((file) => `    at f (${file}:1:2)`)].join('\n') })
  const root = 'file:///app/node_modules/holdfast/dist/'
  const own = (error: unknown): boolean => isOwnDefect(error, root, [`${root}agents/`])
  expect(own(at(`${root}core/run-log.js`, 'node:internal/timers'))).toBe(true)
  expect(own(at(`${root}core/context.js`, 'file:///app/agents.js'))).toBe(false)
  expect(own(at(`${root}agents/workflow/flow.js`))).toBe(false)
  expect(own(at('node:internal/stream_base_commons'))).toBe(false)
  expect(own('text')).toBe(false)
})

function lineOf(server: ServerProcess, run: string): string | undefined {
  return server.stderr.split('\n').find((line) => line.includes(run))
}
