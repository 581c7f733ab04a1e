/** When a node may claim runs whose leases have expired. */
import { describe, expect, test } from 'vitest'
import { RenewalGap } from './renewal-gap.ts'

const LEASE_MS = 9000

/** A node that has renewed every third of a lease for a long time, up to a moment. */
function steady(until: number): RenewalGap {
  const gap = new RenewalGap(LEASE_MS)
  for (let now = until - LEASE_MS * 3; now <= until; now += LEASE_MS / 3) gap.renewed(now, now + 5)
  return gap
}

describe('takeover after a renewal gap: a node may take over', () => {
  test('a node that renews in time may take over', () => {
    const gap = steady(0)
    for (let now = 0; now < 10 * LEASE_MS; now += LEASE_MS / 3) {
      gap.renewed(now, now + 5)
      expect(gap.mayTakeOver(now + 5)).toBe(true)
      expect(gap.mayTakeOver(now + LEASE_MS / 3)).toBe(true)
    }
  })

  test('a node whose renewal was late by a third of a lease may take over', () => {
    const gap = steady(0)
    gap.renewed(3000, 6000)
    expect(gap.mayTakeOver(6000)).toBe(true)
  })
})

describe('takeover after a renewal gap: a node takes nothing over', () => {
  test('a new node takes nothing over until one lease after its first renewal', () => {
    const gap = new RenewalGap(LEASE_MS)
    expect(gap.mayTakeOver(0)).toBe(false)
    expect(gap.renewed(10, 20)).toBe(true)
    expect(gap.renewed(3010, 3020)).toBe(false)
    expect(gap.renewed(6010, 6020)).toBe(false)
    expect(gap.mayTakeOver(9019)).toBe(false)
    expect(gap.mayTakeOver(9020)).toBe(true)
  })

  test('a node whose renewal is overdue by more than a third of a lease takes nothing over', () => {
    const gap = steady(0)
    expect(gap.mayTakeOver(6000)).toBe(true)
    expect(gap.mayTakeOver(6001)).toBe(false)
    expect(gap.mayTakeOver(600_000)).toBe(false)
  })

  test('a gap blocks takeovers for one lease, which renewals do not extend', () => {
    const gap = steady(0)
    expect(gap.renewed(3000, 40_000)).toBe(true)
    for (let now = 40_100; now < 49_000; now += 3000) {
      expect(gap.renewed(now, now)).toBe(false)
      expect(gap.mayTakeOver(now)).toBe(false)
    }
    expect(gap.mayTakeOver(48_999)).toBe(false)
    expect(gap.mayTakeOver(49_000)).toBe(true)
  })

  test('each of several gaps blocks takeovers for one lease', () => {
    const gap = steady(0)
    gap.renewed(3000, 20_000)
    gap.renewed(21_000, 21_000)
    gap.renewed(24_000, 30_000)
    expect(gap.mayTakeOver(30_000)).toBe(false)
    gap.renewed(33_000, 33_000)
    gap.renewed(36_000, 36_000)
    expect(gap.mayTakeOver(38_999)).toBe(false)
    expect(gap.mayTakeOver(39_000)).toBe(true)
  })
})
