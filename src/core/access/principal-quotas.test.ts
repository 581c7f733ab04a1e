/** Quotas of one principal on a node that others also use. */
import { describe, expect, test } from 'vitest'
import { gated } from '../../../test/support/gated-component.ts'
import { openNode, subject } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { localPrincipal, type Principal } from '../model/principal.ts'
import type { Sink } from '../delivery/subscription.ts'

const anna: Principal = { id: 'anna' }
const bert: Principal = { id: 'bert' }

describe('[SEC-2] quotas: the worker slots of one principal', () => {
  test.each([
    ['half of them by default', {}, 2],
    ['as many as configured', { maxRunsPerPrincipal: 3 }, 3],
  ])('are %s, and other principals get the rest', async (_name, more, share) => {
    const { component, started, open } = gated()
    const node = openNode({ components: [component], limits: { maxConcurrentRuns: 4, ...more } })
    for (let count = 0; count < 10; count++) await node.startAs(anna, 'subject', 'anna')
    await until('the share is taken', () => started.length === share)
    await node.startAs(bert, 'subject', 'bert')
    await until('the other principal has a slot at once', () => started.includes('bert'))
    expect(started.filter((owner) => owner === 'anna')).toHaveLength(share)
    open()
    await until('all runs have executed', () => started.length === 11)
  })

  test('are not exceeded when queued runs are claimed together', async () => {
    const { component, started, open } = gated()
    const node = openNode({ components: [component], limits: { maxConcurrentRuns: 4 } })
    await Promise.all(Array.from({ length: 12 }, () => node.startAs(anna, 'subject', 'anna')))
    await until('the share is taken', () => started.length >= 2)
    await node.startAs(bert, 'subject', 'bert')
    await until('the other principal has a slot', () => started.includes('bert'))
    expect(started.length).toBeLessThanOrEqual(3)
    open()
    await until('all runs have executed', () => started.length === 13)
  })

  test('are all slots for the one principal of a server without authentication', async () => {
    const { component, started, open } = gated()
    const node = openNode({ components: [component], limits: { maxConcurrentRuns: 4 } })
    for (let count = 0; count < 4; count++) await node.startAs(localPrincipal, 'subject', 'local')
    await until('all are taken', () => started.length === 4)
    expect(node.service.health().running).toBe(4)
    open()
  })
})

describe('[SEC-2] quotas: the starts of one principal', () => {
  const limits = { maxStartsPerSecond: 1, maxStartBurst: 3 }

  test('are rejected beyond the burst, with a retry delay, and those of others are not', async () => {
    const node = openNode({ components: [subject(async function* () {})], limits })
    for (let count = 0; count < 3; count++) await node.startAs(anna, 'subject')
    await expect(node.startAs(anna, 'subject')).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterMs: expect.any(Number) as number,
    })
    await node.startAs(bert, 'subject')
  })

  test('a start that is repeated with the same idempotency key is not counted again', async () => {
    const node = openNode({ components: [subject(async function* () {})], limits })
    const first = await node.startAs(anna, 'subject', null, { idempotencyKey: 'k' })
    for (let count = 0; count < 10; count++)
      expect((await node.startAs(anna, 'subject', null, { idempotencyKey: 'k' })).run.id).toBe(first.run.id)
  })
})

test('[SEC-2] quotas: the open streams of one principal are limited over all its runs, and a closed one can be replaced by another', async () => {
  const { component } = gated()
  const node = openNode({ components: [component], limits: { maxStreamsPerPrincipal: 2 } })
  const runs = [await node.startAs(anna, 'subject'), await node.startAs(anna, 'subject')]
  const other = await node.startAs(bert, 'subject')
  const sink: Sink = { write: () => true, finished: () => {}, failed: () => {} }
  const open = runs.map(({ run }) => node.service.subscribe(anna, run.id, -1, sink))
  const [first] = await Promise.all(open)
  await expect(node.service.subscribe(anna, runs[0]!.run.id, -1, sink)).rejects.toMatchObject({ code: 'rate_limited' })
  await node.service.subscribe(bert, other.run.id, -1, sink)
  first!.close()
  await node.service.subscribe(anna, runs[0]!.run.id, -1, sink)
})
