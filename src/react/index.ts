/** `holdfast/react`: a run in a React component. */
export { type RunState, useRun, type UseRunOptions } from './use-run.ts'
export type { ShownRun } from './run-store.ts'
