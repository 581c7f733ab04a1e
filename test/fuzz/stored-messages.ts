/** Messages between the program that opens damaged databases and its parent. */

export interface MadeRun {
  readonly id: string
  /** Part of every text of the run, and of no other. */
  readonly mark: string
}

export type StoredJob =
  | { readonly does: 'make'; readonly path: string; readonly copy: string }
  | { readonly does: 'read'; readonly path: string; readonly runs: readonly string[] }

export type StoredReply =
  | { readonly made: readonly MadeRun[] }
  /** By run; empty for one that was refused. */
  | { readonly logs: Readonly<Record<string, string>> }
  /** The database could not be opened. */
  | { readonly refused: string }
