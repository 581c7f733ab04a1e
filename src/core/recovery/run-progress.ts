/**
 * Decides whether the last attempt of a run got further than every attempt before. Progress is newly finished work, an answer, or
 * more output than was ever logged at once. Retracted output and work do not count, nor do events of an upstream: the output derived
 * from them does.
 */
import { eventTable, type LoggedEvent } from '../model/event.ts'
import { actorKey } from '../structure/actors.ts'
import { retractedFrom, workRetractedFrom } from '../structure/retraction.ts'

interface FurthestPosition {
  readonly output: number
  readonly finished: number
}

export class RunProgress {
  readonly #output = new StandingIndexes()
  readonly #finished = new StandingIndexes()
  /** The furthest positions of the attempts before the last one, and of the last one. */
  #before: FurthestPosition = { output: 0, finished: 0 }
  #reached: FurthestPosition = { output: 0, finished: 0 }
  #isAnswered = false

  get hasProgressed(): boolean {
    const { output, finished } = this.#reached
    return this.#isAnswered || output > this.#before.output || finished > this.#before.finished
  }

  /** Processes an event of the log, in order. */
  note(event: LoggedEvent): void {
    switch (event.type) {
      case 'run.started':
        this.#before = furthest(this.#before, this.#reached)
        this.#isAnswered = false
        return
      case 'run.resumed':
        this.#isAnswered = true
        return
      case 'attempt.discarded':
        this.#output.drop((whose) => retractedFrom(event, whose))
        return this.#finished.drop((whose) => workRetractedFrom(event, whose))
      default:
        if (eventTable[event.type].effect === 'content' && event.type !== 'upstream.received') this.#add(event)
    }
  }

  #add({ type, data, actor, index }: LoggedEvent): void {
    if ((data as { readonly key?: string }).key !== undefined) {
      if (/\.(completed|failed)$/.test(type)) this.#finished.add(actorKey(actor), index)
    } else {
      this.#output.add(actorKey(actor), index)
    }
    this.#reached = furthest(this.#reached, { output: this.#output.count, finished: this.#finished.count })
  }
}

/** Indexes of events that are not retracted, ascending, by actor. */
class StandingIndexes {
  readonly #byActor = new Map<string, number[]>()
  count = 0

  add(whose: string, index: number): void {
    const known = this.#byActor.get(whose)
    if (known === undefined) this.#byActor.set(whose, [index])
    else known.push(index)
    this.count++
  }

  drop(from: (whose: string) => number): void {
    for (const [whose, indexes] of this.#byActor) this.count -= dropFrom(indexes, from(whose))
  }
}

function furthest(a: FurthestPosition, b: FurthestPosition): FurthestPosition {
  if (b.output <= a.output && b.finished <= a.finished) return a
  return { output: Math.max(a.output, b.output), finished: Math.max(a.finished, b.finished) }
}

function dropFrom(indexes: number[], from: number): number {
  let kept = indexes.length
  while (kept > 0 && indexes[kept - 1]! >= from) kept--
  const dropped = indexes.length - kept
  indexes.length = kept
  return dropped
}
