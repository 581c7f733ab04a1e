/**
 * A leader that was just elected may not know yet what the one before it acknowledged. Whoever does not find what should be there
 * has a message written: when that is acknowledged, so is known all that came before it.
 */
import type { Layout, Spot } from './layout.ts'
import type { Link } from './link.ts'

export class Barriers {
  readonly #link: Link
  readonly #layout: Layout
  readonly #isReplicated: boolean
  readonly #underWay = new Map<string, Promise<void>>()
  /** The one after that: whoever comes while one is under way must not take it for theirs, and shares the next. */
  readonly #next = new Map<string, Promise<void>>()

  constructor(link: Link, layout: Layout, isReplicated: boolean) {
    this.#link = link
    this.#layout = layout
    this.#isReplicated = isReplicated
  }

  /** Until the leader knows all that was acknowledged of something; false where it always does, being the only server. */
  async pass(spot: Spot): Promise<boolean> {
    if (this.#isReplicated) await this.#pass(this.#layout.barrier(spot))
    return this.#isReplicated
  }

  #pass({ stream, subject }: Spot): Promise<void> {
    const next = this.#next.get(stream)
    if (next !== undefined) return next
    const before = this.#underWay.get(stream) ?? Promise.resolve()
    const mine = before
      .catch(() => {}) // told to those who waited for it
      .then(() => {
        this.#next.delete(stream)
        this.#underWay.set(stream, mine)
        return this.#link.publish({ stream, subject, head: '{}', replaces: true })
      })
      .then(() => {})
    this.#next.set(stream, mine)
    mine.catch(() => {}) // told to whoever waits
    return mine
  }
}
