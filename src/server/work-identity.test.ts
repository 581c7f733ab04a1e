import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createMemoryStore } from '../stores/memory.ts'
import { workIdentity } from './work-identity.ts'

const INPUT = '{"card":"4242"}'

async function digestIn(store: ReturnType<typeof createMemoryStore>, run: string): Promise<string> {
  return (await workIdentity(store).digests.of(run))(INPUT)
}

test('[RUN-5] digests of recorded work are the same on every node of a store', async () => {
  const store = createMemoryStore()
  expect(await digestIn(store, 'run_1')).toBe(await digestIn(store, 'run_1'))
})

test('[SEC-1] digests of recorded work do not tell their inputs: they differ between runs and stores, and have a secret key', async () => {
  const store = createMemoryStore()
  const known = await digestIn(store, 'run_1')
  expect(await digestIn(store, 'run_2')).not.toBe(known)
  expect(await digestIn(createMemoryStore(), 'run_1')).not.toBe(known)
  for (const guess of [INPUT, `run_1\n${INPUT}`])
    expect(createHash('sha256').update(guess).digest('base64url')).not.toContain(known)
})
