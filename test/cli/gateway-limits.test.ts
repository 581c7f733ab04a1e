/** `holdfast gateway`: every flag that limits a principal, on the real command. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { playing, startChatServer } from '../gateway/chat-server.ts'
import { call, followRun, getRun, postRun, startRun, type Target, untilStatus } from '../support/http.ts'
import { createKeys } from '../support/keys.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { CommandLine } from './command-line.ts'

/** Many more than the burst of a limit, so that some exceed it on a busy machine too. */
const FLOOD = 900

/** One principal per limit, so that none of them is in the way of another. */
const names = ['runs', 'other', 'starts', 'requests', 'streams', 'stored', 'documents'] as const

const detailsOf = (answers: readonly { readonly status: number; readonly body: object }[], status: number): string =>
  answers
    .filter((answer) => answer.status === status)
    .map(({ body }) => (body as { detail?: string }).detail)
    .join('\n')

test('[SEC-2] holdfast gateway applies every flag of what a principal may hold', { timeout: 180_000 }, async () => {
  const upstream = await startChatServer({ slow: () => {}, quick: playing('data: [DONE]\n\n') })
  const keys = join(temporaryFolder(), 'keys.json')
  const tokens = await createKeys(keys, names)
  const limits =
    '--max-runs 4 --max-runs-per-principal 1 --max-queued 2 --max-streams-per-principal 1 --max-starts-per-second 1 ' +
    '--max-requests-per-second 50 --max-requests-per-address 50 --max-stored-per-principal 30kB --max-documents-per-principal 1'
  const served = ['--port', '0', '--store', 'memory:', '--upstream', `openai=${upstream.url}`, '--auth-keys', keys]
  const gateway = new CommandLine(['gateway', ...served, ...limits.split(' ')])
  const url = await gateway.url()
  const of = (name: (typeof names)[number]): Target => ({ url, token: tokens[names.indexOf(name)]! })

  // --max-requests-per-second
  const requests = await Promise.all(Array.from({ length: FLOOD }, () => call(of('requests'), 'GET', '/runs')))
  expect(detailsOf(requests, 429)).toContain('more than 50 requests per second')

  // --max-runs-per-principal and --max-queued: one runs, one waits, and a third finds no room in half of the queue.
  const first = await startRun(of('runs'), 'go', { component: 'slow' })
  await untilStatus(of('runs'), first.id, ['running'])
  const second = await startRun(of('runs'), 'go', { component: 'slow' })
  expect(detailsOf([await postRun(of('runs'), 'go', { component: 'slow' })], 429)).toContain('queue')
  const other = await startRun(of('other'), 'go', { component: 'slow' })
  await untilStatus(of('other'), other.id, ['running'])

  // --max-streams-per-principal
  const streamed = await startRun(of('streams'), 'go', { component: 'slow' })
  expect(await followRun(of('streams'), streamed.id).status()).toBe(200)
  expect(await followRun(of('streams'), streamed.id).status()).toBe(429)

  // --max-stored-per-principal and --max-documents-per-principal
  const large = () => postRun(of('stored'), 'x'.repeat(40_000), { component: 'quick' })
  expect([(await large()).status, (await large()).status]).toEqual([202, 507])
  const conversation = () =>
    call(of('documents'), 'POST', '/v1/conversations', { body: { metadata: { topic: 'kelp' } } })
  expect([(await conversation()).status, (await conversation()).status]).toEqual([200, 507])

  // --max-starts-per-second
  const starts = await Promise.all(
    Array.from({ length: 100 }, () => postRun(of('starts'), 'go', { component: 'quick' })),
  )
  expect(detailsOf(starts, 429)).toContain('starts are limited to 1 per second')

  expect((await getRun(of('runs'), second.id)).status).toBe('queued')

  // --max-requests-per-address: last, because keys that are not known yet count too.
  const strangers = await Promise.all(Array.from({ length: FLOOD }, () => call({ url }, 'GET', '/health')))
  expect(detailsOf(strangers, 429)).toContain('your address sends more than 50 requests per second')
})
