import { expect, onTestFinished, test, vi } from 'vitest'
import { Ledger } from './ledger.ts'
import type { WorkRecord } from './recorded-work.ts'

const RECORDS = 20_000

function step(index: number, about: Partial<WorkRecord> = {}): WorkRecord {
  const key = `step-${index}`
  const outcome = { state: 'done', result: null } as const
  return {
    kind: 'step',
    key,
    name: key,
    within: '',
    digest: undefined,
    index,
    outcome,
    covers: false,
    awaited: true,
    ...about,
  }
}

function steps(): WorkRecord[] {
  return Array.from({ length: RECORDS }, (_, index) => step(index))
}

test('ledger: the records of a long log are sorted in slices that yield the event loop', async () => {
  // A machine on which every look at the clock takes a millisecond: a fast one would be done within one slice.
  let now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => ++now)
  onTestFinished(() => clock.mockRestore())
  let ticks = 0
  let isOver = false
  const tick = (): void => {
    ticks++
    if (!isOver) setImmediate(tick)
  }
  setImmediate(tick)
  const ledger = await Ledger.of(steps(), [])
  isOver = true
  expect(ledger.isBehind).toBe(true)
  expect(ticks).toBeGreaterThan(2)
})

test('ledger: held work looks at each record once, however many are requested meanwhile', async () => {
  const ledger = await Ledger.of(steps(), [])
  let looks = 0
  const last = ledger.firstMissing(({ index }) => (looks++, index === RECORDS - 1))
  ledger.onChange(() => last())
  for (const { kind, name } of steps()) {
    expect(last()).toBeDefined()
    ledger.take({ kind, name, prefix: '', within: '', digest: undefined }, 'no such key')
  }
  expect(last()).toBeUndefined()
  expect(looks).toBeLessThanOrEqual(RECORDS)
})

test('[RUN-5] ledger: only a request of the same kind, name, scope and input takes a record', async () => {
  const ledger = await Ledger.of([step(0, { key: 'branch~/pay', name: 'pay', digest: 'input' })], [])
  const same = { kind: 'step', name: 'pay', prefix: 'branch~/', within: '', digest: 'input' } as const
  const others = [
    { ...same, kind: 'tool' },
    { ...same, name: 'refund' },
    { ...same, prefix: '' },
    { ...same, within: 'step:around' },
    { ...same, digest: 'another' },
    { ...same, digest: undefined },
  ] as const
  for (const other of others) expect(ledger.take(other, 'no such key')).toBeUndefined()
  expect(ledger.take(same, 'no such key')).toMatchObject({ key: 'branch~/pay' })
  expect(ledger.take(same, 'no such key')).toBeUndefined()
})

test('[RUN-5] ledger: work below finished work is not waited for, work below interrupted work is', async () => {
  const begun = { state: 'started', times: 1 } as const
  const ledger = await Ledger.of(
    [
      step(0),
      step(1, { within: 'step:step-0', outcome: begun }),
      step(2, { within: 'step:step-1' }),
      step(3, { outcome: begun }),
      step(4, { within: 'step:step-3' }),
    ],
    [],
  )
  const missing = ledger.firstMissing()
  expect(missing()?.index).toBe(0)
  ledger.take({ kind: 'step', name: 'step-0', prefix: '', within: '', digest: undefined }, '')
  expect(missing()?.index).toBe(3)
  ledger.take({ kind: 'step', name: 'step-3', prefix: '', within: '', digest: undefined }, '')
  expect(missing()?.index).toBe(4)
  ledger.passBelow('step:step-3')
  expect(missing()).toBeUndefined()
})
