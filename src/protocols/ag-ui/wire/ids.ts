/** Ids of messages and interrupts, derived from the run, so that any node can parse them without stored state. */

/** Unique in a thread, and told apart from messages of other runs and of clients. */
export function toMessageId(run: string, index: number): string {
  return `${run}:${index}`
}

export function isMessageOf(run: string, id: string): boolean {
  return id.startsWith(`${run}:`)
}

export function toInterruptId(run: string, question: string): string {
  return `${run}:${question}`
}

export interface AskedQuestion {
  readonly run: string
  readonly question: string
}

/** Undefined if no run can have asked this. */
export function parseInterruptId(id: string): AskedQuestion | undefined {
  const [, run, question] = /^(run_[A-Za-z0-9-]+):(.+)$/s.exec(id) ?? []
  return run === undefined ? undefined : { run, question: question! }
}

/** The protocol's own id of a run that another protocol started, or that goes on after an answer. */
export function toRunId(run: string, leg: number): string {
  return leg === 0 ? run : `${run}~${leg}`
}

/** Calls are unique in their run, but not in their thread. */
export function toCallId(run: string, call: string): string {
  return `${run}:call:${call}`
}

/** Undefined if no run can have made this call. */
export function parseCallId(id: string): { readonly run: string } | undefined {
  const [, run] = /^(run_[A-Za-z0-9-]+):call:/.exec(id) ?? []
  return run === undefined ? undefined : { run }
}
