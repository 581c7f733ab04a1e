/** Failing providers: which requests are retried, after which delay, and what a broken stream retracts. */
import { APICallError } from 'ai'
import { describe, expect, test } from 'vitest'
import { openNode, textOf, typesOf } from '../../../test/support/node.ts'
import { WorkError } from '../../core/ports/component.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import { modelAgent, type ModelAgentDefinition } from './agent.ts'
import { requestFailure, retryDelay } from './retry.ts'
import { type ScriptedOutput, type ScriptedPart, scriptedModel } from './scripted/scripted.ts'

function apiError(statusCode: number, responseHeaders: Record<string, string> = {}): APICallError {
  return new APICallError({
    message: `status ${statusCode}`,
    url: 'x',
    requestBodyValues: {},
    statusCode,
    responseHeaders,
  })
}

/** What each request does, in turn; the last one is repeated. */
async function logOf(
  requests: (() => ScriptedOutput)[],
  more: Partial<ModelAgentDefinition> = {},
): Promise<LoggedEvent[]> {
  let count = 0
  const model = scriptedModel({ script: () => requests[Math.min(count++, requests.length - 1)]!() })
  const node = openNode({ components: [modelAgent({ id: 'subject', model, retryDelayMs: 1, ...more })] })
  return node.ended(await node.start('subject', 'hello'))
}

function refuse(error: Error): () => ScriptedOutput {
  return () => {
    throw error
  }
}

async function* breaksOff(error: unknown = new Error('socket hang up')): AsyncGenerator<ScriptedPart> {
  yield 'half an '
  throw error
}

function requestsIn(log: readonly LoggedEvent[]): number {
  return log.filter(({ type }) => type === 'model.requested').length
}

describe('model agent: a request', () => {
  test.each([
    ['of a provider that is busy', apiError(429)],
    ['of a provider that is broken', apiError(503)],
    ['that finds no network', Object.assign(new Error('fetch failed'), { cause: { code: 'ECONNREFUSED' } })],
  ])('a request %s is retried', async (_, error) => {
    const log = await logOf([refuse(error), refuse(error), () => 'at last'])
    expect(log.at(-1)!.data).toMatchObject({ output: 'at last' })
    expect(requestsIn(log)).toBe(3)
  })

  test('a request that fails too often fails the run with the reason', async () => {
    const log = await logOf([refuse(apiError(500))])
    expect(requestsIn(log)).toBe(3)
    const error = { code: 'agent_failed', message: 'status 500', retryable: true, details: { status: 500 } }
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error } })
  })

  test('an invalid request is not retried', async () => {
    const log = await logOf([refuse(apiError(400)), () => 'never'])
    expect(requestsIn(log)).toBe(1)
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { retryable: false } } })
  })
})

describe('model agent: a stream that breaks off', () => {
  test.each<[string, () => ScriptedOutput]>([
    ['with an error', () => breaksOff()],
    ['with something that is no error', () => breaksOff({ type: 'overloaded' })],
  ])('a stream that breaks off %s is a new attempt, and its text is retracted', async (_, broken) => {
    const log = await logOf([broken, () => 'a whole answer'])
    expect(textOf(log)).toBe('a whole answer')
    expect(typesOf(log)).toContain('attempt.discarded')
    expect(log.at(-1)!.data).toMatchObject({ output: 'a whole answer' })
  })

  test('[RUN-3] fails the run if no retry is configured, and never counts as an answer', async () => {
    const log = await logOf([() => breaksOff()], { retries: 0 })
    expect(requestsIn(log)).toBe(1)
    expect(textOf(log)).toBe('')
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { message: 'socket hang up' } } })
  })
})

describe('model agent: the delay before a retry', () => {
  const policy = { retries: 3, delayMs: 100 }
  const failure = new WorkError({ code: 'agent_failed', message: 'x', retryable: true })

  test('the retry delay doubles, with jitter, up to a maximum', () => {
    const waits = [1, 2, 3, 4].map((failures) => retryDelay(failure, failures, policy, () => 1))
    expect(waits).toEqual([100, 200, 400, undefined])
    expect(retryDelay(failure, 1, policy, () => 0)).toBe(50)
  })

  test.each<[string, Record<string, string>, number | undefined]>([
    ['seconds', { 'retry-after': '7' }, 7000],
    ['a date', { 'retry-after': new Date(1_000_000_009_000).toUTCString() }, 9000],
    ['milliseconds, which are the more precise', { 'retry-after': '7', 'retry-after-ms': '1500' }, 1500],
    ['less than our own wait', { 'retry-after': '0' }, 100],
    ['something else', { 'retry-after': 'soon' }, 100],
    ['so long that it is not waited for', { 'retry-after': '3600' }, undefined],
  ])('is the provider’s: %s', (_, headers, wait) => {
    const reported = requestFailure(apiError(429, headers), false, 1_000_000_000_000)
    expect(retryDelay(reported, 1, policy, () => 1)).toBe(wait)
  })
})
