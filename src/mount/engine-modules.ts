/**
 * What `holdfast()` loads when it opens its store, as `holdfast/engine` so that bundles of applications can load it too. Not an interface
 * for applications: it may change with every version.
 */
export { openEngine } from '../server/engine.ts'
export { openStore } from '../server/store/open-store.ts'
export { errorFormOf } from '../server/protocols/protocols.ts'
