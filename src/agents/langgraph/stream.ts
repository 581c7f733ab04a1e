/** Maps a graph's stream to events, superstep by superstep. */
import { createEvent, type Emission } from '../../core/ports/component.ts'
import type { Event } from '../../core/model/event.ts'
import { GraphMessages } from './messages.ts'
import type { Thread } from './thread.ts'
import { type Message, messagesIn, toPlainJson } from './values.ts'

export interface Interrupt {
  readonly id: string
  readonly value: unknown
}

/** Result of one superstep, as recorded in the log. */
export interface Superstep {
  /** The checkpoint from which the graph can continue. */
  readonly checkpoint?: string
  /** Set if the graph has ended or waits. */
  readonly end?: {
    readonly interrupts: readonly Interrupt[]
    readonly next: readonly string[]
    readonly output: unknown
  }
}

export interface GraphPosition {
  /** Prefix of all ids of this superstep. */
  readonly id: string
  /** The checkpoint that it follows. */
  readonly after: string | null
}

interface Task {
  readonly id: string
  readonly name: string
  readonly result?: unknown
  readonly interrupts?: readonly Interrupt[]
}

export class GraphStream {
  readonly #thread: Thread
  readonly #chunks: AsyncIterator<unknown>
  readonly #interrupts: Interrupt[] = []
  /** The graph's state, if it has no checkpointer. */
  #values: unknown

  constructor(thread: Thread, chunks: AsyncIterable<unknown>) {
    this.#thread = thread
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** Reads up to the next checkpoint, or to the end of a graph without checkpoints. */
  async *superstep(
    { id, after }: GraphPosition,
    outputOf: (state: unknown) => unknown,
  ): AsyncGenerator<Emission, Superstep, void> {
    const messages = new GraphMessages(id)
    const steps = new Map<string, string>()
    for (;;) {
      const { done, value } = await this.#chunks.next()
      if (done === true) {
        yield* messages.close()
        return { end: await this.#end(outputOf) }
      }
      const [mode, chunk] = value as [string, unknown]
      if (mode === 'values') this.#values = chunk
      else if (mode === 'custom') yield createEvent('custom.emitted', { name: 'langgraph', value: chunk })
      else if (mode === 'messages') {
        const [message, about] = chunk as [Message, { langgraph_checkpoint_ns?: string }]
        yield* messages.add(message, about.langgraph_checkpoint_ns ?? '')
      } else if (mode === 'tasks') yield* this.#task(chunk as Task, id, steps, messages)
      else {
        const { configurable } = (chunk as { config: { configurable: { checkpoint_id: string } } }).config
        if (configurable.checkpoint_id === after) continue
        yield* messages.close()
        return { checkpoint: configurable.checkpoint_id }
      }
    }
  }

  /** A node starts or has ended. */
  *#task(task: Task, id: string, steps: Map<string, string>, messages: GraphMessages): Generator<Event> {
    const { name } = task
    if (!('result' in task)) {
      const step = `${id}/${steps.size + 1}-${name}`
      steps.set(task.id, step)
      yield createEvent('step.started', { step, name, kind: 'function' })
      return
    }
    yield* messages.close(task.id)
    yield* messages.tools(messagesIn(task.result))
    this.#interrupts.push(...(task.interrupts ?? []))
    const step = steps.get(task.id) ?? `${id}/${name}`
    if ((task.interrupts ?? []).length > 0)
      yield createEvent('step.skipped', { step, name, reason: 'it waits for an answer' })
    else yield createEvent('step.completed', { step, name, output: toPlainJson(task.result) })
  }

  async #end(outputOf: (state: unknown) => unknown): Promise<NonNullable<Superstep['end']>> {
    const interrupts = this.#interrupts
    if (!this.#thread.isKept) return { interrupts, next: [], output: outputOf(this.#values) ?? null }
    const { values, next } = await this.#thread.state()
    return { interrupts, next, output: next.length > 0 ? null : (outputOf(values) ?? null) }
  }
}
