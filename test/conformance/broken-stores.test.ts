/** The suite fails for every store that breaks a rule, and passes for honest ones whatever their pace. */
import { describe, expect, test } from 'vitest'
import { openMemoryStore } from '../../src/stores/memory.ts'
import { type BrokenStore, brokenStores, overriding } from '../../src/testing/broken-stores.ts'
import { expectToPass } from '../../src/testing/conformance/trial.ts'
import type { StoreTarget } from '../../src/testing/index.ts'
import { storeSections } from '../../src/testing/store-conformance.ts'
import type { Store } from '../../src/core/store.ts'

/** A memory store that outlives its handles, as a file does. */
function durable(store: Store): Store {
  return overriding(store, { capabilities: { durable: true, shared: false } })
}

function targetOf({ name, breakStore, afterReopen = false }: BrokenStore): StoreTarget {
  const kept = new WeakMap<Store, Store>()
  const opened = (store: Store, isBroken: boolean): Store => {
    const handle = isBroken ? breakStore(store) : store
    kept.set(handle, store)
    return handle
  }
  return {
    name,
    patienceMs: 50,
    open: async ({ clock }) => opened(durable(openMemoryStore({ clock })), !afterReopen),
    reopen: async (handle) => opened(kept.get(handle)!, true),
  }
}

/** Names of the cases that a target fails, with why. */
async function failuresOf(target: StoreTarget, section: string): Promise<Map<string, unknown>> {
  const failures = new Map<string, unknown>()
  for (const each of storeSections.find(({ name }) => name === section)?.cases ?? []) {
    await expectToPass(target, each).catch((error: unknown) => failures.set(each.name, error))
  }
  return failures
}

describe('the suite notices a store that', () => {
  for (const broken of brokenStores) {
    test(`${broken.name} (${broken.section})`, async () => {
      const failures = await failuresOf(targetOf(broken), broken.section)
      console.log(
        broken.name,
        '|',
        broken.section,
        '|',
        JSON.stringify([...failures].map(([n, e]) => [n, String((e as Error).message).slice(0, 100)])),
      )
      expect([...failures.keys()]).not.toEqual([])
    })
  }
})
