/** Current text of a run: what its own component emitted, without retracted output. */
import type { LoggedEvent } from '../core/model/event.ts'
import { TextFold } from '../core/structure/texts.ts'

/** The text of a run, folded from its events, without retracted output. */
export class RunText {
  #texts = new TextFold()
  #whole: string | undefined = ''

  get value(): string {
    return (this.#whole ??= this.#texts
      .of('')
      .map(({ text }) => text)
      .join(''))
  }

  /** Resets to empty. */
  clear(): void {
    this.#texts = new TextFold()
    this.#whole = ''
  }

  /** The text that an event adds; `retracted` if it retracts text; undefined otherwise. */
  apply(event: LoggedEvent): { readonly added: string } | 'retracted' | undefined {
    if (event.type === 'text.delta' && event.actor === undefined) {
      this.#texts.add(event)
      if (this.#whole !== undefined) this.#whole += event.data.text
      return { added: event.data.text }
    }
    if (event.type !== 'attempt.discarded' || this.#texts.retract(event).length === 0) return undefined
    this.#whole = undefined
    return 'retracted'
  }
}
