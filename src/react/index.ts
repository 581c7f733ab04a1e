/** `holdfast/react`: a run or a conversation in a React component. */
export { type UseRunResult, useRun, type UseRunOptions } from './use-run.ts'
export { type UseSessionResult, useSession, type UseSessionOptions } from './use-session.ts'
export type { SessionStoreState } from './session-store.ts'
