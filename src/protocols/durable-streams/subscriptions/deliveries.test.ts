import { expect, test } from 'vitest'
import { Deliveries } from './deliveries.ts'

/** Starts as many deliveries as there are slots, each to a separate host. */
function fill(deliveries: Deliveries, owner: string, host?: string): (() => void)[] {
  const ends: (() => void)[] = []
  for (let at = 0; at < 100; at++) {
    const to = { owner, host: host ?? `${owner}-${at}.example` }
    if (!deliveries.hasRoom(to.owner, to.host)) break
    const { promise, resolve } = Promise.withResolvers<void>()
    deliveries.start(
      to,
      () => promise,
      () => {},
    )
    ends.push(resolve)
  }
  return ends
}

test('[SEC-2] deliveries: an owner without one has room while dead receivers of others take all slots', () => {
  const deliveries = new Deliveries()
  for (let at = 0; at < 8; at++) expect(fill(deliveries, `hostile-${at}`)).toHaveLength(8)
  expect(deliveries.hasRoom('hostile-0', 'other.example')).toBe(false)
  expect(fill(deliveries, 'anna')).toHaveLength(1)
})

test('[SEC-2] deliveries: many owners cannot start any number of them', () => {
  const deliveries = new Deliveries()
  let count = 0
  for (let at = 0; at < 1000; at++) count += fill(deliveries, `owner-${at}`).length
  expect(count).toBe(256)
})

test('[SEC-2] deliveries: one host gets four, and the first of each owner', () => {
  const deliveries = new Deliveries()
  expect(fill(deliveries, 'anna', 'dead.example')).toHaveLength(4)
  expect(fill(deliveries, 'bert', 'dead.example')).toHaveLength(1)
  expect(deliveries.hasRoom('anna', 'live.example')).toBe(true)
})

test('[SEC-2] deliveries: a slot that becomes free is offered to its owner and to the owner that waited longest', async () => {
  const deliveries = new Deliveries()
  const { promise, resolve } = Promise.withResolvers<void>()
  const ended = new Promise((end) => {
    deliveries.start({ owner: 'anna', host: 'a.example' }, () => promise, end)
  })
  for (const [owner, id] of [
    ['bert', 'first'],
    ['bert', 'second'],
    ['cleo', 'third'],
    ['anna', 'fourth'],
  ] as const)
    deliveries.await(owner, id)
  resolve()
  expect(await ended).toEqual([
    { owner: 'anna', id: 'fourth' },
    { owner: 'bert', id: 'first' },
  ])
  expect(deliveries.isWaiting('bert', 'first')).toBe(false)
  expect(deliveries.isWaiting('bert', 'second')).toBe(true)
})
