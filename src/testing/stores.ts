/** `holdfast/testing/stores`: the conformance suite for authors of stores. Needs vitest and fast-check. */
export type { OpenOptions, StoreSkip, StoreTarget } from './conformance/target.ts'
export { storeConformance } from './store-conformance.ts'
