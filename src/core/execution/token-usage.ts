/** Token usage of a run, by actor. Retracted output counts like any other. */
import type { Actor, Event, Usage } from '../model/event.ts'
import { actorKey, isWithin } from '../structure/actors.ts'

export class TokenUsage {
  /** Usage by actor; once the actor has ended, including the actors that it called. */
  readonly #taken = new Map<string, Usage>()

  /** Counts an event of the log. */
  note({ type, data, actor }: Event): void {
    if (type === 'model.responded' && data.usage !== undefined) this.#add(actorKey(actor), data.usage)
    if ((type === 'actor.completed' || type === 'actor.failed') && data.usage !== undefined)
      this.#setTotal(actor!, data.usage)
  }

  /**
   * Total usage of a component that ends, including the components that it called. Declared usage counts only if the component has
   * reported none for its own model calls; otherwise the same tokens would count twice.
   */
  end(actor: Actor | undefined, declared: Usage | undefined): Usage | undefined {
    const key = actorKey(actor)
    if (declared !== undefined && !this.#taken.has(key)) this.#add(key, declared)
    const keys = [...this.#taken.keys()].filter((each) => isWithin(each, key))
    if (keys.length === 0) return undefined
    const usage = keys.reduce<Usage>((sum, each) => addUsage(sum, this.#taken.get(each)!), {})
    if (actor !== undefined) this.#setTotal(actor, usage)
    return usage
  }

  #add(key: string, usage: Usage): void {
    this.#taken.set(key, addUsage(this.#taken.get(key) ?? {}, usage))
  }

  #setTotal({ run }: Actor, usage: Usage): void {
    for (const key of this.#taken.keys()) if (isWithin(key, run)) this.#taken.delete(key)
    this.#taken.set(run, usage)
  }
}

/** Keeps counts that only one of the two has. */
function addUsage(one: Usage, other: Usage): Usage {
  const sum: Record<string, number> = { ...one }
  for (const [name, count] of Object.entries(other) as [string, unknown][])
    if (typeof count === 'number' && Number.isFinite(count)) sum[name] = (sum[name] ?? 0) + count
  return sum
}
