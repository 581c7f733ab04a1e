/** Test utilities for authors of stores, protocols and components. */
export { labAgent, type LabOptions } from '../agents/lab/agent.ts'
export { labComponents, labTeam, labWorkflow } from '../agents/lab/kinds.ts'
export type { OpenOptions, StoreSkip, StoreTarget } from './conformance/target.ts'
export { createFakeClock, type FakeClock } from './fake-clock.ts'
export { storeConformance } from './store-conformance.ts'
