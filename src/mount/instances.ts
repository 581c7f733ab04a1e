/**
 * The instances of a process, by store. Stored outside of this module, because development servers reload changed modules and leave
 * the old ones running.
 */
import { closeOn } from './close-on.ts'
import { Instance } from './instance.ts'
import { codeAddress } from './load-engine.ts'
import type { CheckedOptions } from './options.ts'

interface Entry {
  readonly instance: Instance
  /** URL of its code. Copies of the package with different code cannot share an instance. */
  readonly code: string | undefined
  /** The last caller. Only it may close the instance. */
  holder: object
  /** Removes its signal handlers. */
  ignoreSignals: () => void
}

const REGISTRY = Symbol.for('holdfast.instances')

function entries(): Map<unknown, Entry> {
  const shared = globalThis as { [REGISTRY]?: Map<unknown, Entry> }
  return (shared[REGISTRY] ??= new Map())
}

/** A caller's handle on an instance. */
export interface InstanceLease {
  readonly instance: Instance
  /** Closes it, unless another instance has taken it over. */
  close(): Promise<void>
}

/**
 * Takes over the instance of a store, or creates one. An instance with different settings or code is closed first, and its callers
 * are refused from then on: they must not serve with other settings, such as authentication, than their own.
 */
export function leaseInstance(options: CheckedOptions): InstanceLease {
  const { key, given } = options
  const holder = {}
  const known = entries().get(key)
  if (known !== undefined && known.code === codeAddress && known.instance.takes(options)) {
    known.instance.replace(given)
    known.holder = holder
    return leaseOf(known, options)
  }
  known?.ignoreSignals()
  const before = known?.instance.handOver()
  const instance: Instance = new Instance(
    options,
    () => {
      if (entries().get(key)?.instance === instance) entries().delete(key)
    },
    before,
  )
  const entry = { instance, code: codeAddress, holder, ignoreSignals: () => {} }
  entries().set(key, entry)
  return leaseOf(entry, options)
}

function leaseOf(entry: Entry, { given }: CheckedOptions): InstanceLease {
  const { instance, holder } = entry
  entry.ignoreSignals()
  const ignoreSignals = closeOn(given.closeOn ?? [], () => instance.close())
  entry.ignoreSignals = ignoreSignals
  return {
    instance,
    close() {
      if (entry.holder !== holder) return Promise.resolve()
      ignoreSignals()
      return instance.close()
    },
  }
}
