/** What those who write stores test them with. */
export type { OpenOptions, StoreSkip, StoreTarget } from './conformance/target.ts'
export { createFakeClock, type FakeClock } from './fake-clock.ts'
export { storeConformance } from './store-conformance.ts'
