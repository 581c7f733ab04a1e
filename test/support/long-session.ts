/** A session of many finished runs with long logs, expensive to read. */
import { systemClock } from '../../src/core/ports/clock.ts'
import { localOwner } from '../../src/core/model/principal.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'

export interface LongSession {
  readonly session: string
  readonly component: string
  readonly runs: number
  readonly eventsPerRun: number
  /** Text of every event. Default: a word. */
  readonly text?: string
  /** Default: everybody on a server without authentication. */
  readonly owner?: string
}

/** Ids of the runs, oldest first. */
export async function addLongSession(
  store: Store,
  { session, component, runs, eventsPerRun, text = 'once ', owner = localOwner }: LongSession,
): Promise<string[]> {
  const ids: string[] = []
  const began = Date.now() - runs * 1000
  for (let number = 0; number < runs; number++) {
    const id = `run_${session}${String(number).padStart(4, '0')}`
    const made = newRun(id, new Date(began + number * 1000).toISOString(), {
      session,
      component,
      owner,
      claim: { worker: 'runWriter', ttlMs: 60_000 },
    })
    const { stored } = await store.create(made)
    const runWriter = new RunWriter(store, systemClock, stored, [])
    runWriter.start()
    for (let count = 0; count < eventsPerRun; count++) runWriter.text(text)
    runWriter.append({ type: 'run.completed', data: { output: 'done' } })
    await runWriter.flush()
    ids.push(id)
  }
  return ids
}
