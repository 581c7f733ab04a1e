/** JSON that came as text, with what it says: the log takes the text as it is, instead of writing it again. */

const LINE_BREAK = /[\n\r]/
const CLOSERS = /[\]}]/g

export class JsonText {
  readonly text: string
  readonly value: unknown

  /** `text` must be what `value` was parsed from. */
  constructor(text: string, value: unknown) {
    this.text = text
    this.value = value
  }

  /** For all that do not know this class. */
  toJSON(): unknown {
    return this.value
  }

  /** The text, if it can stand in a record: on one line, and not nested too deep. It has at least as many brackets as levels. */
  within(maxDepth: number): string | undefined {
    const { text } = this
    if (LINE_BREAK.test(text)) return undefined
    return (text.match(CLOSERS)?.length ?? 0) < maxDepth ? text : undefined
  }
}
