/**
 * Tells whether the last attempt of a run got further than every attempt before it. Progress is newly finished work, an
 * answer, or more output than the log ever held at once; retracted output and work do not count.
 */
import { eventTable, type LoggedEvent } from '../model/event.ts'
import { actorKey } from '../structure/actors.ts'

interface FurthestPosition {
  readonly output: number
  readonly finished: number
}

export class RunProgress {
  /** Indexes of the output that stands, ascending, by actor. */
  readonly #output = new Map<string, number[]>()
  /** Indexes of the finished work that stands, ascending. */
  readonly #finished: number[] = []
  #standing = 0
  /** The furthest that the attempts before the last one got, and the furthest of the last one. */
  #before: FurthestPosition = { output: 0, finished: 0 }
  #reached: FurthestPosition = { output: 0, finished: 0 }
  #isAnswered = false

  get hasProgressed(): boolean {
    const { output, finished } = this.#reached
    return this.#isAnswered || output > this.#before.output || finished > this.#before.finished
  }

  /** Takes in an event of the log, in order. */
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
        return this.#discard(event)
      default:
        if (eventTable[event.type].effect === 'content') this.#add(event)
    }
  }

  #add({ type, data, actor, index }: LoggedEvent): void {
    if ((data as { readonly key?: string }).key !== undefined) {
      if (!/\.(completed|failed)$/.test(type)) return
      this.#finished.push(index)
    } else {
      const key = actorKey(actor)
      const output = this.#output.get(key)
      if (output === undefined) this.#output.set(key, [index])
      else output.push(index)
      this.#standing++
    }
    this.#reached = furthest(this.#reached, { output: this.#standing, finished: this.#finished.length })
  }

  #discard({ data: { from, scope, ledger }, actor }: Extract<LoggedEvent, { type: 'attempt.discarded' }>): void {
    const own = actorKey(actor)
    for (const [key, output] of this.#output) {
      if (scope === 'all' || key === own || (scope === 'below' && key.startsWith(`${own}/`)))
        this.#standing -= dropFrom(output, from)
    }
    if (ledger === 'dropped') dropFrom(this.#finished, from)
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
