/** Tests of nodes that share a store; every shared store runs them. */
import { expect, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { systemClock } from '../../src/core/ports/clock.ts'
import type { Hint, Store } from '../../src/core/ports/store.ts'
import { readRecords } from '../../src/testing/conformance/reading.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'
import { openNode, subject, textOf } from '../support/node.ts'
import { until } from '../support/until.ts'

export interface SharedPlaces {
  /** The name of a new, empty place. */
  readonly newPlace: () => string
  /** Another node's store there; closed when the test is over. */
  readonly open: (place: string) => Promise<Store>
  /** Resolves when `nodes` nodes receive each other's hints. */
  readonly settled: (place: string, nodes: number) => Promise<void>
}

export function testNodes({ newPlace, open, settled }: SharedPlaces): void {
  test('hear of appends, stops and claimable runs of the others, without the records', async () => {
    const place = newPlace()
    const [here, there] = [await open(place), await open(place)]
    await settled(place, 2)
    const hints = hintsOf(there)
    const draft = newRun('run_1', new Date().toISOString())
    await here.create(draft)
    const receivedOf = (what: (hint: Hint) => boolean): Promise<Hint> =>
      until('the other node is told', () => hints.find((hint) => hint.run === 'run_1' && what(hint)))
    await receivedOf(({ claimable }) => claimable === true)
    const claim = (await there.claim('run_1', 'worker-2', 60_000))!
    const runWriter = new RunWriter(here, systemClock, claim, [draft.record])
    runWriter.start()
    runWriter.text('far away')
    await runWriter.flush()
    expect((await receivedOf(({ next }) => next === 3)).slice).toBeUndefined()
    expect(await readRecords(there, 'run_1')).toEqual(runWriter.records)
    await here.requestStop('run_1', { at: new Date().toISOString() })
    await receivedOf(({ stop }) => stop === true)
  })

  test('count what others have just stored, and list what they have just finished', async () => {
    const place = newPlace()
    const [here, there] = [await open(place), await open(place)]
    for (let at = 1; at <= 10; at++) {
      const draft = newRun(`run_${at}`, new Date().toISOString(), { claim: { worker: 'worker-1', ttlMs: 60_000 } })
      const runWriter = new RunWriter(here, systemClock, (await here.create(draft)).stored, [draft.record])
      expect((await there.usage.of('owner-1')).runs).toBe(at)
      await here.documents.put({ owner: 'owner-1', collection: 'notes', id: `${at}`, body: at })
      expect((await there.usage.largest(1))[0]).toMatchObject({ owner: 'owner-1', documents: at + 1 })
      runWriter.start()
      runWriter.complete()
      await runWriter.flush()
      expect(await there.usage.finishedRuns('owner-1', 100)).toHaveLength(at)
    }
  })

  test('[RUN-2] a run is followed, answered and stopped on any of them', async () => {
    const place = newPlace()
    const asking = subject(async function* (_, context) {
      yield 'Hm. '
      yield String(await context.ask({ prompt: 'Well?' }))
      await context.sleep(600_000)
    })
    const [first, second, third] = [await open(place), await open(place), await open(place)].map((store) =>
      openNode({ components: [asking], store, limits: { leaseMs: 3000, pollIntervalMs: 200 } }),
    ) as [ReturnType<typeof openNode>, ReturnType<typeof openNode>, ReturnType<typeof openNode>]
    const id = await first.start('subject')
    const { run } = await second.reached(id, 'paused', 15_000)
    await second.answer(id, { [run.waiting![0]!.id]: 'Yes.' })
    await third.emitted(id, 'text.delta', 2)
    await third.stop(id, 'enough')
    const log = await first.ended(id, 15_000)
    expect(textOf(log)).toBe('Hm. Yes.')
    expect(log.at(-1)).toMatchObject({ type: 'run.cancelled', data: { reason: 'enough' } })
  })

  test('[RUN-1] the runs of one that is gone are taken over when its lease is over', async () => {
    const place = newPlace()
    const resuming = agent<unknown>({
      id: 'subject',
      recovery: 'resume',
      async *run(_, context) {
        yield await context.step('once', () => 'paid ')
        if (context.attempt === 1) await context.sleep(600_000)
        yield 'done'
      },
    })
    const dead = await open(place)
    const limits = { leaseMs: 1000, pollIntervalMs: 200 }
    const node = openNode({ components: [resuming], store: dead, limits })
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta', 1)
    await dead.close() // its claims stay, and nobody renews them
    const successor = openNode({ components: [resuming], store: await open(place), limits })
    expect(textOf(await successor.ended(id, 20_000))).toBe('paid done')
  })
}

/** The hints that a node's store gets from now on. */
export function hintsOf(store: Store): Hint[] {
  const hints: Hint[] = []
  store.watch('*', (hint) => void hints.push(hint))
  return hints
}
