/** Spans of a run as a tree: attempts, members, steps, tools, models, waits and retracted output. */
import type { LoggedEvent } from 'holdfast/client'
import type { Entry, RunStructure } from 'holdfast/structure'

export interface Span {
  readonly kind: 'attempt' | 'member' | 'step' | 'tool' | 'model' | 'wait' | 'retracted'
  readonly name: string
  /** Index of the enclosing entry. */
  readonly parent: number | undefined
  /** Index of its first event. */
  readonly index: number
  readonly start: number
  readonly end?: number | undefined
  /** `cut`: its process died. */
  readonly state: 'running' | 'done' | 'failed' | 'skipped' | 'cut' | 'discarded'
}

export interface Row extends Span {
  readonly depth: number
}

const DEPTH_MAX = 50

export class RunSpans {
  readonly #structure: RunStructure
  /** Time of each event. */
  readonly #times: number[] = []
  #firstIndex: number | undefined

  constructor(structure: RunStructure) {
    this.#structure = structure
  }

  /** Notes the times of events that the structure has. */
  apply(events: readonly LoggedEvent[]): void {
    for (const { index, time } of events) {
      this.#firstIndex ??= index
      this.#times.push(Date.parse(time))
    }
  }

  /** Time of the first event. */
  get first(): number {
    return this.#times[0] ?? 0
  }

  /** Time of the last event. */
  get last(): number {
    return this.#times.at(-1) ?? 0
  }

  /** Each below its parent, in order of start. */
  rows(): Row[] {
    const spans = new Map<number, Span>()
    for (const entry of this.#structure.entries()) {
      const span = this.#spanOf(entry)
      if (span !== undefined) spans.set(entry.index, span)
    }
    const children = Map.groupBy(spans.values(), ({ parent }) =>
      parent !== undefined && spans.has(parent) ? parent : undefined,
    )
    const rows: Row[] = []
    const walk = (parent: number | undefined, depth: number): void => {
      for (const span of children.get(parent) ?? []) {
        rows.push({ ...span, depth })
        if (span.kind !== 'retracted' && depth < DEPTH_MAX) walk(span.index, depth + 1)
      }
    }
    walk(undefined, 0)
    return rows
  }

  #spanOf(entry: Entry): Span | undefined {
    const about = this.#aboutOf(entry)
    if (about === undefined) return undefined
    const { endedAt } = entry as { readonly endedAt?: string | undefined }
    const end = endedAt === undefined ? undefined : Date.parse(endedAt)
    const span = { index: entry.index, start: Date.parse(entry.time), end, ...about }
    return entry.retracted ? { ...span, state: 'discarded' } : span
  }

  #aboutOf(entry: Entry): (Pick<Span, 'kind' | 'name' | 'parent' | 'state'> & Partial<Span>) | undefined {
    const member = this.#structure.called(entry.actor)?.index
    switch (entry.kind) {
      case 'attempt':
        return { kind: 'attempt', name: `Attempt ${entry.number}`, parent: undefined, state: entry.state }
      case 'actor': {
        const parent = entry.step ?? this.#structure.called(entry.caller)?.index
        return { kind: 'member', name: entry.component, parent, state: entry.state }
      }
      case 'step': {
        const { name, stepKind, step: parent = member, state } = entry
        if (stepKind === 'model') return undefined // its request is shown instead
        return { kind: 'step', name: stepKind === 'function' ? name : `${name} (${stepKind})`, parent, state }
      }
      case 'tool':
        if (entry.state === 'drafting') return undefined
        return { kind: 'tool', name: entry.name, parent: member, state: entry.state }
      case 'model':
        return { kind: 'model', name: entry.model, parent: member, state: entry.state }
      case 'questions':
        return {
          kind: 'wait',
          name: 'Waiting for an answer',
          parent: undefined,
          state: entry.endedAt === undefined ? 'running' : 'done',
        }
      case 'retraction': {
        const start = this.#times[entry.from - (this.#firstIndex ?? 0)] ?? this.first
        const end = this.#times[entry.index - 1 - (this.#firstIndex ?? 0)] ?? this.last
        return {
          kind: 'retracted',
          name: entry.reason,
          parent: member,
          index: entry.from,
          start,
          end,
          state: 'discarded',
        }
      }
      default:
        return undefined
    }
  }
}
