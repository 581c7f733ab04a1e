/**
 * The instances of a process, by store. Kept outside of this module, because development servers load changed modules again and
 * leave the old ones running.
 */
import { Instance } from './instance.ts'
import type { CheckedOptions } from './options.ts'

interface Entry {
  instance: Instance
  /** Whoever called last. Only it may close the instance. */
  holder: object
}

const REGISTRY = Symbol.for('holdfast.instances')

function entries(): Map<unknown, Entry> {
  const shared = globalThis as { [REGISTRY]?: Map<unknown, Entry> }
  return (shared[REGISTRY] ??= new Map())
}

/** A caller's share of an instance. */
export interface Lease {
  /** The instance that serves the store now. */
  current(): Instance
  /** Closes it, unless somebody else has taken it over. */
  close(): Promise<void>
}

/** Takes over the instance of a store, or makes one. One with other settings is closed first; runs go on in the new one. */
export function leaseInstance(options: CheckedOptions): Lease {
  const { key, given } = options
  const holder = {}
  const known = entries().get(key)
  if (known?.instance.takes(options) === true) {
    known.instance.replace(given)
    known.holder = holder
    return leaseOf(known, holder)
  }
  const entry = known ?? { instance: undefined as never, holder }
  const before = known?.instance.handOver()
  const instance: Instance = new Instance(
    options,
    () => {
      if (entry.instance === instance) entries().delete(key)
    },
    before,
  )
  entry.instance = instance
  entry.holder = holder
  entries().set(key, entry)
  return leaseOf(entry, holder)
}

function leaseOf(entry: Entry, holder: object): Lease {
  return {
    current: () => entry.instance,
    close: () => (entry.holder === holder ? entry.instance.close() : Promise.resolve()),
  }
}
