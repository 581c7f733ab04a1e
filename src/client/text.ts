/** Current text of a run: what its own component emitted, without retracted output. */
import type { LoggedEvent } from '../core/model/event.ts'

export class RunText {
  #pieces: { readonly index: number; readonly text: string }[] = []
  #whole: string | undefined = ''

  get value(): string {
    return (this.#whole ??= this.#pieces.map(({ text }) => text).join(''))
  }

  /** Resets to empty. */
  clear(): void {
    this.#pieces = []
    this.#whole = ''
  }

  /** The text that an event adds; `withdrawn` if it retracts text; undefined otherwise. */
  apply(event: LoggedEvent): { readonly added: string } | 'withdrawn' | undefined {
    if (event.type === 'text.delta' && event.actor === undefined) {
      const { index, data } = event
      this.#pieces.push({ index, text: data.text })
      if (this.#whole !== undefined) this.#whole += data.text
      return { added: data.text }
    }
    if (event.type !== 'attempt.discarded') return undefined
    const { from, scope } = event.data
    const concerned = scope === 'all' || event.actor === undefined
    if (!concerned || !this.#pieces.some(({ index }) => index >= from)) return undefined
    this.#pieces = this.#pieces.filter(({ index }) => index < from)
    this.#whole = undefined
    return 'withdrawn'
  }
}
