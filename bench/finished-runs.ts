/** Fills a database with finished runs, in a separate process. */
import { openSqliteStore } from '../src/stores/sqlite/index.ts'
import { answer, ready } from './ipc-child.ts'
import { OpenRun } from './open-run.ts'

export interface FinishedRuns {
  readonly path: string
  readonly runs: number
  readonly eventsPerRun: number
  /** Leaves the runs open, as if a worker were still executing them. */
  readonly open?: boolean
}

const AT_ONCE = 500

async function fill({ path, runs, eventsPerRun, open: isLeftOpen = false }: FinishedRuns): Promise<readonly string[]> {
  const ids: string[] = []
  const store = await openSqliteStore({ path })
  for (let made = 0; made < runs; made += AT_ONCE) {
    const open = await Promise.all(Array.from({ length: Math.min(AT_ONCE, runs - made) }, () => OpenRun.create(store)))
    for (const run of open) {
      ids.push(run.id)
      run.append(eventsPerRun - 2)
      if (!isLeftOpen) run.finish()
    }
    await Promise.all(open.map((run) => run.flush()))
  }
  await store.close()
  return ids
}

answer(fill)
ready()
