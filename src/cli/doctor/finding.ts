/** One finding of `holdfast doctor`. */
export interface Finding {
  readonly subject: string
  readonly state: 'good' | 'note' | 'bad'
  readonly message: string
  /** What to do next. */
  readonly advice?: string
}

export function good(subject: string, message: string): Finding {
  return { subject, state: 'good', message }
}

export function note(subject: string, message: string, advice?: string): Finding {
  return { subject, state: 'note', message, ...(advice !== undefined && { advice }) }
}

export function bad(subject: string, message: string, advice: string): Finding {
  return { subject, state: 'bad', message, advice }
}
