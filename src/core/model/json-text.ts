/** JSON text with its parsed value: the log stores the text unchanged instead of serializing the value again. */

const LINE_BREAK = /[\n\r]/
const CLOSERS = /[\]}]/g

export class JsonText {
  readonly text: string
  readonly value: unknown

  /** `text` must be the source of `value`. */
  constructor(text: string, value: unknown) {
    this.text = text
    this.value = value
  }

  /** For code that does not know this class. */
  toJSON(): unknown {
    return this.value
  }

  /** The text, if a record can contain it: on one line, and not nested too deep. It has at least as many brackets as levels. */
  within(maxDepth: number): string | undefined {
    const { text } = this
    if (LINE_BREAK.test(text)) return undefined
    return (text.match(CLOSERS)?.length ?? 0) < maxDepth ? text : undefined
  }
}
