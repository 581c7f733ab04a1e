/** `holdfast/react`: a run or a conversation in a React component. */
export { type RunState, useRun, type UseRunOptions } from './use-run.ts'
export type { RunStoreState } from './run-store.ts'
export { type SessionState, useSession, type UseSessionOptions } from './use-session.ts'
export type { SessionStoreState } from './session-store.ts'
