/** `holdfast/react`: a run in a React component. */
export { type RunState, useRun, type UseRunOptions } from './use-run.ts'
