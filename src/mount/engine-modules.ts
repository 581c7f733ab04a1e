/**
 * The modules that `holdfast()` loads when it opens its store. Exported as `holdfast/engine`, so that bundled applications can load
 * them too. Internal: may change with every version.
 */
export { openEngine } from '../server/engine.ts'
export { openStore } from '../server/store/open-store.ts'
export { errorFormOf } from '../server/protocols/protocols.ts'
