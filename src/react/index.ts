/** `holdfast/react`: a run in a component. */
export { type RunState, useRun, type UseRunOptions } from './use-run.ts'
