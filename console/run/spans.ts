/** Spans of a run as a tree: attempts, members, steps, tools, models and waits. */
import type { Actor, EventType, LoggedEvent } from 'holdfast/client'
import { concerns, type Withdrawal } from './withdrawal.ts'

export interface Span {
  readonly id: string
  readonly kind: 'attempt' | 'member' | 'step' | 'tool' | 'model' | 'wait' | 'withdrawn'
  readonly name: string
  readonly parent: string | undefined
  /** Run id of the actor; '' for the run's own component. */
  readonly actor: string
  /** Index of its first event. */
  readonly index: number
  readonly start: number
  readonly end?: number
  /** `cut`: its process died. */
  readonly state: 'running' | 'done' | 'failed' | 'skipped' | 'cut' | 'discarded'
}

export interface Row extends Span {
  readonly depth: number
}

type Logged<Type extends EventType> = Extract<LoggedEvent, { type: Type }>

export class SpanFold {
  readonly #spans = new Map<string, Span>()
  /** The newest span with each id. */
  readonly #latest = new Map<string, string>()
  readonly #actors = new Map<string, Actor>()
  /** Time of each event. */
  readonly #times: number[] = []
  #firstIndex: number | undefined
  #attempt: string | undefined
  #last = 0
  first = 0

  /** Time of the last event. */
  get last(): number {
    return this.#last
  }

  apply(events: readonly LoggedEvent[]): void {
    for (const event of events) {
      const time = Date.parse(event.time)
      this.#firstIndex ??= event.index
      this.#times.push(time)
      if (event.actor !== undefined) this.#actors.set(event.actor.run, event.actor)
      if (this.first === 0) this.first = time
      const handler = handlers[event.type] as ((fold: SpanFold, event: LoggedEvent, time: number) => void) | undefined
      handler?.(this, event, time)
      this.#last = time
    }
  }

  has(id: string): boolean {
    return this.#latest.has(id)
  }

  /** Each below its parent, in order of start. */
  rows(): Row[] {
    const children = Map.groupBy(this.#spans.values(), ({ parent }) =>
      parent !== undefined && this.#spans.has(parent) ? parent : undefined,
    )
    const rows: Row[] = []
    const walk = (parent: string | undefined, depth: number): void => {
      for (const span of children.get(parent) ?? []) {
        rows.push({ ...span, depth })
        if (depth < 50) walk(span.id, depth + 1)
      }
    }
    walk(undefined, 0)
    return rows
  }

  begin(
    event: LoggedEvent,
    time: number,
    span: Pick<Span, 'id' | 'kind' | 'name'> & { parent?: string | undefined },
  ): void {
    const { actor } = event
    const around = 'parent' in span ? span.parent : actor && memberId(actor.run)
    const parent = around && (this.#latest.get(around) ?? around)
    // A call that is repeated after a crash is a new span.
    const id = this.#spans.has(span.id) ? `${span.id}@${event.index}` : span.id
    this.#latest.set(span.id, id)
    this.#spans.set(id, {
      ...span,
      id,
      parent,
      actor: actor?.run ?? '',
      index: event.index,
      start: time,
      state: 'running',
    })
  }

  end(id: string, time: number, state: Span['state']): void {
    const span = this.#spans.get(this.#latest.get(id) ?? id)
    if (span !== undefined) this.#spans.set(span.id, { ...span, end: time, state })
  }

  /** The attempt's process died, or the attempt ended. */
  endAttempt(time: number, state: Span['state'], cutOthers: boolean): void {
    if (this.#attempt !== undefined) this.end(this.#attempt, time, state)
    this.#attempt = undefined
    if (!cutOthers) return
    for (const span of this.#spans.values())
      if (span.state === 'running' && span.kind !== 'member')
        this.#spans.set(span.id, { ...span, end: time, state: 'cut' })
  }

  endWaits(time: number): void {
    for (const span of this.#spans.values())
      if (span.kind === 'wait' && span.state === 'running')
        this.#spans.set(span.id, { ...span, end: time, state: 'done' })
  }

  startAttempt(event: Logged<'run.started'>, time: number): void {
    this.endAttempt(this.#last, 'cut', true)
    this.#attempt = `attempt:${event.data.attempt}:${event.index}`
    this.begin(event, time, { id: this.#attempt, kind: 'attempt', name: `Attempt ${event.data.attempt}` })
  }

  /** Marks retracted output, and the work whose results were dropped or interrupted. */
  discard(event: Withdrawal): void {
    const { from, ledger, scope, reason } = event.data
    if (ledger === 'dropped' && scope === 'all') this.endAttempt(this.#last, 'discarded', false)
    for (const span of this.#spans.values()) {
      if (span.index < from || span.kind === 'wait' || span.kind === 'withdrawn') continue
      if (!concerns(event, span.actor, this.#actors)) continue
      const brokeOff = span.kind === 'model' && span.state === 'running'
      if (ledger === 'dropped' || brokeOff)
        this.#spans.set(span.id, { ...span, state: 'discarded', end: span.end ?? this.#last })
    }
    const id = `withdrawn:${event.index}`
    const start = this.#times[from - (this.#firstIndex ?? 0)] ?? this.first
    this.begin({ ...event, index: from }, start, { id, kind: 'withdrawn', name: reason })
    this.end(id, this.#last, 'discarded')
  }

  finish(time: number, state: Span['state']): void {
    this.endAttempt(time, state, false)
    for (const span of this.#spans.values())
      if (span.state === 'running')
        this.#spans.set(span.id, { ...span, end: time, state: state === 'done' ? 'done' : 'cut' })
  }
}

const memberId = (run: string): string => `member:${run}`

type Handlers = { [Type in EventType]?: (fold: SpanFold, event: Logged<Type>, time: number) => void }

const handlers: Handlers = {
  'run.started': (fold, event, time) => fold.startAttempt(event, time),
  'run.released': (fold, _event, time) => fold.endAttempt(time, 'done', false),
  'attempt.discarded': (fold, event) => fold.discard(event),
  'run.paused': (fold, event, time) =>
    fold.begin(event, time, { id: `wait:${event.index}`, kind: 'wait', name: 'Waiting for an answer' }),
  'run.resumed': (fold, _event, time) => fold.endWaits(time),
  'run.completed': (fold, _event, time) => fold.finish(time, 'done'),
  'run.failed': (fold, _event, time) => fold.finish(time, 'failed'),
  'run.cancelled': (fold, _event, time) => fold.finish(time, 'failed'),
  'run.rejected': (fold, _event, time) => fold.finish(time, 'failed'),
  'actor.started': (fold, event, time) => {
    const { actor } = event
    if (actor === undefined) return
    const parentActor = actor.parent === undefined || actor.parent === event.run ? undefined : memberId(actor.parent)
    const step = `step:${event.data.key}` // it performs a step, or was called directly
    const parent = fold.has(step) ? step : parentActor
    fold.begin(event, time, { id: memberId(actor.run), kind: 'member', name: actor.component, parent })
  },
  'actor.completed': (fold, event, time) => fold.end(memberId(event.actor?.run ?? ''), time, 'done'),
  'actor.failed': (fold, event, time) => fold.end(memberId(event.actor?.run ?? ''), time, 'failed'),
  'step.started': (fold, event, time) => {
    const { step, name, kind, parent } = event.data
    if (kind === 'model') return // its request is shown instead
    const title = kind === undefined || kind === 'function' ? name : `${name} (${kind})`
    const around = parent === undefined ? {} : { parent: `step:${parent}` }
    fold.begin(event, time, { id: `step:${step}`, kind: 'step', name: title, ...around })
  },
  'step.completed': (fold, event, time) => fold.end(`step:${event.data.step}`, time, 'done'),
  'step.failed': (fold, event, time) => fold.end(`step:${event.data.step}`, time, 'failed'),
  'step.skipped': (fold, event, time) => fold.end(`step:${event.data.step}`, time, 'skipped'),
  'tool.called': (fold, event, time) =>
    fold.begin(event, time, { id: `tool:${event.data.call}`, kind: 'tool', name: event.data.name }),
  'tool.completed': (fold, event, time) => fold.end(`tool:${event.data.call}`, time, 'done'),
  'tool.failed': (fold, event, time) => fold.end(`tool:${event.data.call}`, time, 'failed'),
  'model.requested': (fold, event, time) =>
    fold.begin(event, time, { id: `model:${event.data.request}`, kind: 'model', name: event.data.model }),
  'model.responded': (fold, event, time) => fold.end(`model:${event.data.request}`, time, 'done'),
}
