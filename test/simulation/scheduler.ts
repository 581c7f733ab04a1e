/**
 * The simulated time. Takes one event at a time from a heap, and completes everything that it causes without waiting before the next:
 * promises are the only concurrency left, and their order is fixed.
 */
import type { Random } from '../support/random.ts'

export interface Scheduled {
  readonly due: number
  /** Orders events of one moment: drawn by the seed. */
  readonly tie: number
  readonly number: number
  readonly label: string
  act: (() => void) | undefined
}

/** Number of steps after which the runtime gets a tick of its real event loop: for signals, and to report unhandled rejections. */
const REAL_TURN_STEPS = 4096

export interface TraceLine {
  readonly at: number
  readonly text: string
}

export class Scheduler {
  /** Milliseconds since the simulation began. */
  now = 0
  steps = 0
  readonly random: Random
  readonly trace: TraceLine[] | undefined
  readonly #heap: Scheduled[] = []
  #numbers = 0
  #deferred: (() => void)[] = []
  #hash = 0x811c9dc5

  constructor(random: Random, options: { readonly trace: boolean }) {
    this.random = random
    this.trace = options.trace ? [] : undefined
  }

  /** Hash of everything that happened, in order. */
  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0')
  }

  get pending(): number {
    return this.#heap.length
  }

  after(milliseconds: number, label: string, act: () => void): Scheduled {
    const event: Scheduled = {
      due: this.now + Math.max(milliseconds, 0),
      tie: this.random.next(),
      number: this.#numbers++,
      label,
      act,
    }
    push(this.#heap, event)
    return event
  }

  /** Calls `act` before the next event. */
  defer(act: () => void): void {
    this.#deferred.push(act)
  }

  /** Records what happened in the hash, and in the trace if there is one. */
  note(text: string): void {
    let hash = this.#hash ^ (this.now * 1000)
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
    this.#hash = hash
    this.trace?.push({ at: this.now, text })
  }

  /** Runs until `isOver` after a step, or until nothing is left. */
  run(isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const step = (): void => {
        try {
          if (isOver() || !this.#step()) return resolve()
        } catch (cause) {
          return reject(cause)
        }
        // A tick that a microtask requests comes when no microtask is left.
        if (this.steps % REAL_TURN_STEPS === 0) setImmediate(step)
        else queueMicrotask(() => process.nextTick(step))
      }
      setImmediate(step)
    })
  }

  #step(): boolean {
    for (;;) {
      const event = pop(this.#heap)
      if (event === undefined) return false
      const { act } = event
      if (act === undefined) continue
      event.act = undefined
      this.now = event.due
      this.steps++
      const deferred = this.#deferred
      if (deferred.length > 0) {
        this.#deferred = []
        for (const each of deferred) each()
      }
      act()
      return true
    }
  }
}

function isBefore(a: Scheduled, b: Scheduled): boolean {
  return a.due < b.due || (a.due === b.due && (a.tie < b.tie || (a.tie === b.tie && a.number < b.number)))
}

function push(heap: Scheduled[], event: Scheduled): void {
  let at = heap.length
  heap.push(event)
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (!isBefore(event, heap[parent]!)) break
    heap[at] = heap[parent]!
    at = parent
  }
  heap[at] = event
}

function pop(heap: Scheduled[]): Scheduled | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (first === undefined || last === undefined || heap.length === 0) return first
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
    if (!isBefore(heap[child]!, last)) break
    heap[at] = heap[child]!
    at = child
  }
  heap[at] = last
  return first
}
