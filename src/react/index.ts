/** `holdfast/react`: a run in a React component. */
export { type RunState, useRun, type UseRunOptions } from './use-run.ts'
export type { RunStoreState } from './run-store.ts'
