/** A copy into a store that cannot hold one of the runs: it names that run, and continues with the others. */
import { expect, test } from 'vitest'
import { copyStore } from '../../src/cli/transfer/copy-store.ts'
import { HoldfastError } from '../../src/core/model/errors.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { overriding } from '../../src/testing/broken-stores.ts'
import { startRun, untilFinished } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'

/** As PostgreSQL refuses a text that has U+0000. */
function refusing(store: Store, isRefused: (run: string) => boolean): Store {
  const { transfer: moving } = store
  const refuse = (): never => {
    throw new HoldfastError(
      'invalid_request',
      'PostgreSQL cannot keep this: invalid byte sequence for encoding "UTF8": 0x00',
    )
  }
  const admit: Store['transfer']['admit'] = async (kept, ...rest) =>
    isRefused(kept.stored.run.id) ? refuse() : moving.admit(kept, ...rest)
  return overriding(store, {
    transfer: overriding(moving as unknown as Store, { admit } as never) as unknown as Store['transfer'],
  })
}

test('holdfast copy names a run that the target cannot hold, and copies the others', async () => {
  const store = createMemoryStore()
  const server = await serveInProcess({ store })
  const runs = [await startRun(server, 'text 1'), await startRun(server, 'text 2'), await startRun(server, 'text 3')]
  for (const { id } of runs) await untilFinished(server, id)
  const to = createMemoryStore()
  const { id } = runs[1]!
  const report = await copyStore(
    store,
    refusing(to, (run) => run === id),
    () => {},
  )
  expect(report.runs.copied).toBe(2)
  expect(report.mismatches).toEqual([{ run: id, problem: expect.stringContaining('0x00') as string }])
})

test('holdfast copy ends when the target does not respond', async () => {
  const store = createMemoryStore()
  const server = await serveInProcess({ store })
  const { id } = await startRun(server, 'text 1')
  await untilFinished(server, id)
  const gone = (): never => {
    throw new HoldfastError('unavailable', 'gone')
  }
  const to = overriding(
    refusing(createMemoryStore(), () => true),
    { get: gone },
  )
  await expect(copyStore(store, to, () => {})).rejects.toThrow('gone')
})
