import { expect, test, vi } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { newRun } from '../../testing/fixtures.ts'
import { defaultLimits } from '../model/limits.ts'
import { systemClock } from '../ports/clock.ts'
import { silentLogger } from '../ports/logger.ts'
import type { NodeDeps } from '../node-deps.ts'
import { Registry } from '../registry.ts'
import { RunLog } from './run-log.ts'

test("run log: a caller's credential that cannot be deleted after the end is logged, with its run", async () => {
  const store = createMemoryStore()
  const draft = newRun('run_1', new Date(0).toISOString(), { claim: { worker: 'w', ttlMs: 60_000 } })
  const { stored } = await store.create(draft)
  const failure = new Error('the disk is full')
  const warn = vi.fn<(fields: object, message: string) => void>()
  const parts: Partial<NodeDeps> = {
    store,
    registry: new Registry([]),
    limits: defaultLimits,
    clock: systemClock,
    logger: { ...silentLogger, warn },
    callerCredentials: { drop: () => Promise.reject(failure) } as unknown as NonNullable<NodeDeps['callerCredentials']>,
  }
  const log = new RunLog(parts as NodeDeps, stored)
  log.append({ type: 'run.started', data: { attempt: 1 } })
  log.append({ type: 'run.completed', data: { output: null } })
  await log.flush()
  await vi.waitFor(() => expect(warn).toHaveBeenCalledOnce())
  expect(warn).toHaveBeenCalledWith(
    { run: 'run_1', err: failure },
    "failed to delete the caller's credential of a finished run",
  )
})
