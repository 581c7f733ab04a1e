/** One finding of `holdfast doctor`. */
export interface Finding {
  readonly about: string
  readonly state: 'good' | 'note' | 'bad'
  readonly says: string
  /** What to do next. */
  readonly next?: string
}

export function good(about: string, says: string): Finding {
  return { about, state: 'good', says }
}

export function note(about: string, says: string, next?: string): Finding {
  return { about, state: 'note', says, ...(next !== undefined && { next }) }
}

export function bad(about: string, says: string, next: string): Finding {
  return { about, state: 'bad', says, next }
}
