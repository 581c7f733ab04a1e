/** Collects the recorded work of a run from the events of its log. */
import type { EventType, Failure, LoggedEvent } from '../model/event.ts'
import { actorKey } from '../structure/actors.ts'
import { type DiscardedAttempt, workRetractedFrom } from '../structure/retraction.ts'
import { Ledger } from './ledger.ts'
import { callName, nameIn, type WorkKind, type WorkOutcome, type WorkRecord, workRef } from './recorded-work.ts'

/** Answers to a question of kind `diverged`. */
export type DivergenceDecision = 'retry' | 'continue' | 'fail'

/** `whose`: key of the actor. */
type Draft = { -readonly [Field in keyof WorkRecord]: WorkRecord[Field] } & { whose: string; last: number }

export class LedgerReader {
  readonly #drafts = new Map<string, Draft>()
  /** Question ids are never reused: a late answer must not reach another question. */
  readonly #questions = new Map<string, AskedQuestion>()

  /** Decision about the last divergence. */
  decision: DivergenceDecision | undefined

  /** Processes an event. Returns true if it concerns recorded work. */
  note(event: LoggedEvent): boolean {
    switch (event.type) {
      case 'run.paused':
        this.#ask(event)
        return false
      case 'run.resumed':
        this.#answer(event)
        return true
      case 'attempt.discarded':
        this.#drop(event)
        return false
      default:
        return this.#work(event)
    }
  }

  /** A step that started and has not ended. */
  begunStep(key: string): WorkRecord | undefined {
    const known = this.#drafts.get(workRef('step', key))
    return known?.outcome.state === 'started' ? known : undefined
  }

  ledger(): Promise<Ledger> {
    return Ledger.of(
      this.#drafts.values(),
      [...this.#questions.keys()].map((id) => workRef('ask', id)),
    )
  }

  #work(event: LoggedEvent): boolean {
    const kind = WORK_EVENTS[event.type]
    const data = event.data as WorkData
    if (kind === undefined || data.key === undefined) return false
    const known = this.#drafts.get(workRef(kind, data.key))
    const outcome = outcomeOf(event.type, data, known?.outcome)
    if (known !== undefined) Object.assign(known, { outcome, last: event.index })
    else
      this.#add({
        kind,
        whose: actorKey(event.actor),
        key: data.key,
        name: kind === 'actor' ? callName(nameIn(data.key), event.actor!.component) : nameIn(data.key),
        within: data.within,
        digest: data.digest,
        index: event.index,
        last: event.index,
        outcome,
        covers: data.covers === true,
        awaited: data.within !== undefined && kind !== 'sleep',
        ...(data.until !== undefined && { until: Date.parse(data.until) }),
      })
    return true
  }

  #ask({ data }: Extract<LoggedEvent, { type: 'run.paused' }>): void {
    for (const { id, kind, actor } of data.questions) {
      const { within, digest } = data.work?.[id] ?? {}
      const isOwn = kind === 'uncertain' || kind === 'diverged'
      this.#questions.set(id, { isOwn, kind, whose: actorKey(actor), within, digest })
    }
  }

  #answer({ data, index }: Extract<LoggedEvent, { type: 'run.resumed' }>): void {
    for (const [id, result] of Object.entries(data.answers)) {
      const question = this.#questions.get(id)
      if (question?.kind === 'diverged') this.#decide(result)
      this.#add({
        kind: 'ask',
        whose: question?.whose ?? actorKey(undefined),
        key: id,
        name: 'question',
        within: question?.isOwn === true ? '' : question?.within,
        digest: question?.digest,
        index,
        last: index,
        outcome: { state: 'done', result },
        covers: false,
        awaited: question?.within !== undefined && !question.isOwn,
      })
    }
  }

  /** Applies a decision. After `continue`, new work waits for no recorded work. */
  #decide(answer: unknown): void {
    this.decision = divergenceDecision(answer)
    if (this.decision === 'continue') for (const draft of this.#drafts.values()) draft.awaited = false
  }

  #add(draft: Draft): void {
    this.#drafts.set(workRef(draft.kind, draft.key), draft)
  }

  #drop(event: DiscardedAttempt): void {
    for (const [ref, { whose, last }] of this.#drafts)
      if (last >= workRetractedFrom(event, whose)) this.#drafts.delete(ref)
  }
}

interface AskedQuestion {
  /** Asked by Holdfast, not by the agent. */
  readonly isOwn: boolean
  readonly kind: string
  /** Key of the actor that asks. */
  readonly whose: string
  readonly within: string | undefined
  readonly digest: string | undefined
}

/** Common fields of the events of recorded work. */
interface WorkData {
  readonly key?: string
  readonly within?: string
  readonly digest?: string
  readonly output?: unknown
  readonly error?: Failure
  readonly covers?: true
  readonly until?: string
}

function outcomeOf(type: EventType, { error, output }: WorkData, known: WorkOutcome | undefined): WorkOutcome {
  if (error !== undefined) return { state: 'failed', failure: error }
  if (type.endsWith('.completed')) return { state: 'done', result: output }
  return { state: 'started', times: known?.state === 'started' ? known.times + 1 : 1 }
}

export function divergenceDecision(answer: unknown): DivergenceDecision | undefined {
  const action = typeof answer === 'object' && answer !== null ? (answer as { action?: unknown }).action : answer
  return action === 'retry' || action === 'continue' || action === 'fail' ? action : undefined
}

const WORK_EVENTS: Partial<Record<EventType, WorkKind>> = {
  'step.started': 'step',
  'step.completed': 'step',
  'step.failed': 'step',
  'tool.called': 'tool',
  'tool.completed': 'tool',
  'tool.failed': 'tool',
  'actor.started': 'actor',
  'actor.completed': 'actor',
  'actor.failed': 'actor',
  'sleep.started': 'sleep',
}
