/** Fills a database with finished runs, in a separate process. */
import { openSqliteStore } from '../src/stores/sqlite/index.ts'
import { answer, ready } from './answering.ts'
import { OpenRun } from './open-run.ts'

export interface FinishedRuns {
  readonly path: string
  readonly runs: number
  readonly eventsPerRun: number
}

const AT_ONCE = 500

async function fill({ path, runs, eventsPerRun }: FinishedRuns): Promise<void> {
  const store = await openSqliteStore({ path })
  for (let made = 0; made < runs; made += AT_ONCE) {
    const open = await Promise.all(Array.from({ length: Math.min(AT_ONCE, runs - made) }, () => OpenRun.create(store)))
    for (const run of open) {
      run.append(eventsPerRun - 2)
      run.finish()
    }
    await Promise.all(open.map((run) => run.flush()))
  }
  await store.close()
}

answer(fill)
ready()
