/** Ids of messages and interrupts, derived from the run, so that any node can parse them without stored state. */

/** Unique in a thread, and distinct from messages of other runs and of clients. */
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

/** Undefined if the id is not of a question. */
export function parseInterruptId(id: string): AskedQuestion | undefined {
  const [, run, question] = /^(run_[A-Za-z0-9-]+):(.+)$/s.exec(id) ?? []
  return run === undefined ? undefined : { run, question: question! }
}

/** The AG-UI id of a run that another protocol started, or that continues after an answer. */
export function toRunId(run: string, leg: number): string {
  return leg === 0 ? run : `${run}~${leg}`
}

/** Call ids are unique in their run, but not in their thread. */
export function toCallId(run: string, call: string): string {
  return `${run}:call:${call}`
}

/** Undefined if the id is not of a call. */
export function parseCallId(id: string): { readonly run: string } | undefined {
  const [, run] = /^(run_[A-Za-z0-9-]+):call:/.exec(id) ?? []
  return run === undefined ? undefined : { run }
}
