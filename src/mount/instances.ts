/**
 * The instances of a process, by store. Kept outside of this module, because development servers load changed modules again and
 * leave the old ones running.
 */
import { Instance } from './instance.ts'
import type { CheckedOptions } from './options.ts'

interface Entry {
  readonly instance: Instance
  /** The last caller. Only it may close the instance. */
  holder: object
}

const REGISTRY = Symbol.for('holdfast.instances')

function entries(): Map<unknown, Entry> {
  const shared = globalThis as { [REGISTRY]?: Map<unknown, Entry> }
  return (shared[REGISTRY] ??= new Map())
}

/** A caller's share of an instance. */
export interface Lease {
  readonly instance: Instance
  /** Closes it, unless somebody else has taken it over. */
  close(): Promise<void>
}

/**
 * Takes over the instance of a store, or makes one. One with other settings is closed first, and its callers are refused from then on:
 * they must not serve with settings, such as authentication, that are not theirs.
 */
export function leaseInstance(options: CheckedOptions): Lease {
  const { key, given } = options
  const holder = {}
  const known = entries().get(key)
  if (known?.instance.takes(options) === true) {
    known.instance.replace(given)
    known.holder = holder
    return leaseOf(known, holder)
  }
  const before = known?.instance.handOver()
  const instance: Instance = new Instance(
    options,
    () => {
      if (entries().get(key)?.instance === instance) entries().delete(key)
    },
    before,
  )
  const entry = { instance, holder }
  entries().set(key, entry)
  return leaseOf(entry, holder)
}

function leaseOf(entry: Entry, holder: object): Lease {
  const { instance } = entry
  return { instance, close: () => (entry.holder === holder ? instance.close() : Promise.resolve()) }
}
