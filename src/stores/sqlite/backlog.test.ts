import { expect, test } from 'vitest'
import { assertBacklogBelow } from './backlog.ts'

const MIB = 1024 * 1024

test('[STO-1] SQLite: starts are refused above 64 MiB of backlog, and above another limit if one is set', () => {
  const refusal = expect.objectContaining({ code: 'unavailable', retryAfterMs: 1000 })
  expect(() => assertBacklogBelow(64 * MIB)).not.toThrow()
  expect(() => assertBacklogBelow(64 * MIB + 1)).toThrow(refusal)
  expect(() => assertBacklogBelow(64 * MIB + 1, undefined)).toThrow(refusal)
  expect(() => assertBacklogBelow(64 * MIB + 1, 65 * MIB)).not.toThrow()
  expect(() => assertBacklogBelow(1001, 1000)).toThrow(refusal)
})
