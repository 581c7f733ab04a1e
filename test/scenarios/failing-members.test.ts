/** Members of a team whose tools fail in every way: the failure is reported to the leader, and the server survives. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkedEnd } from '../support/checker.ts'
import { call, followRun, readLog, startRun, stopRun, untilFinished } from '../support/http.ts'
import { startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'

const command = ['serve', join(import.meta.dirname, 'failing-members/components.ts')]

/** In the order of the members. */
const reported: readonly [string, RegExp][] = [
  ['throws', /^member said: failed: boom$/],
  ['throws-text', /^member said: failed: plain$/],
  ['throws-nothing', /^member said: failed: undefined$/],
  ['throws-unreadable', /^member said: failed: /],
  ['rejects-late', /^member said: failed: too late$/],
  ['times-out', /^member said: failed: .*(?:aborted|timeout)/],
  ['breaks-off', /^member said: failed: no other half$/],
  ['unserializable', /^member failed: .*data\.output\.deep\[0\] is a function/],
  ['too-large', /^member failed: .*limit/],
  ['malformed-input', /^member said: failed: Invalid input for tool act/],
  ['wrong-input', /^member said: failed: invalid input for tool act/],
  ['unknown-tool', /^member said: failed: there is no tool "act-of-god"/],
  ['approval-throws', /^member said: failed: .*nobody knows/],
  ['endless', /^member failed: the model still called tools in request 4/],
]

test('[RUN-1] [EVT-1] team: the leader learns how the tool of each member failed, and the run continues', async () => {
  const server = await startServer({ store: temporaryDatabase(), command })
  const { id } = await startRun(server, 'go', { component: 'troubled' })
  expect((await untilFinished(server, id, 60_000)).status).toBe('completed')
  const records = checkedEnd(id, await readLog(server, id))
  const answers = JSON.parse(records.at(-1)!.data['output'] as string) as string[]
  expect(answers).toHaveLength(reported.length)
  for (const [place, [member, message]] of reported.entries()) expect(answers[place], member).toMatch(message)
})

test('[RUN-1] team: an unhandled rejection in a member’s tool fails the team’s run, not the server', async () => {
  const server = await startServer({ store: temporaryDatabase(), command })
  const { id } = await startRun(server, 'go', { component: 'careless' })
  const { status, error } = await untilFinished(server, id, 60_000)
  expect({ status, error }).toMatchObject({
    status: 'failed',
    error: { code: 'agent_failed', message: 'unhandled rejection: unheard' },
  })
  checkedEnd(id, await readLog(server, id))
  expect((await call(server, 'GET', '/health')).status).toBe(200)
})

test('[RUN-2] team: a stop ends the run although a member’s tool never returns and ignores its signal', async () => {
  const server = await startServer({ store: temporaryDatabase(), command })
  const { id } = await startRun(server, 'go', { component: 'deaf' })
  const stream = followRun(server, id)
  await until('the tool is called', () => stream.log.includes('"name":"act"'))
  await stopRun(server, id)
  expect((await untilFinished(server, id, 60_000)).status).toBe('cancelled')
  checkedEnd(id, await readLog(server, id))
})
