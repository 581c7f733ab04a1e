/** Messages of a child process before it sends a command to the store, and after the store has acknowledged it. */

export type Note =
  | { readonly kind: 'opened' }
  | { readonly kind: 'creating' | 'created'; readonly id: string; readonly owner: string }
  /** The next index to be written is the terminal event. */
  | { readonly kind: 'completing'; readonly id: string; readonly index: number }
  | { readonly kind: 'wrote'; readonly id: string; readonly next: number; readonly completed: boolean }
  | { readonly kind: 'removing' | 'removed'; readonly id: string }
  | { readonly kind: 'trimming' | 'trimmed'; readonly id: string; readonly before: number }
  | { readonly kind: 'putting' | 'put'; readonly owner: string; readonly value: number }
  /** Retention: from here on any finished run may have lost all but its last event. */
  | { readonly kind: 'sweeping' | 'swept' }
  | { readonly kind: 'backing up' | 'backed up'; readonly path: string }
  | { readonly kind: 'copied'; readonly problems: readonly string[] }
  | { readonly kind: 'closed' }

export const OWNERS = ['anna', 'ben'] as const

const ASKED: readonly Note['kind'][] = ['creating', 'completing', 'removing', 'trimming', 'putting', 'sweeping']

/** Whether a note is about a request, which may or may not take effect. */
export function isAsked({ kind }: Note): boolean {
  return ASKED.includes(kind)
}
