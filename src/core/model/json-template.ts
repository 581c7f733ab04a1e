/**
 * Serializes values that differ only in one text and one number, such as consecutive text frames. Produces the same JSON as
 * `JSON.stringify` without building each value.
 */
export interface JsonTemplate {
  /** `text`: the JSON string, as `JSON.stringify` writes it. */
  json(text: string, number: number): string
}

/** The last used template. The frames of one run mostly share one, across slices. */
export class TemplateMemo {
  #key: string | number | undefined
  #template: JsonTemplate | undefined

  /** `key`: everything that `build` depends on and that can change within a run. */
  of(key: string | number, build: (text: string, number: number) => object): JsonTemplate {
    if (this.#template === undefined || this.#key !== key) {
      this.#key = key
      this.#template = jsonTemplate(build)
    }
    return this.#template
  }
}

/** What stands for the text and the number while a template is made. A value that has one of them elsewhere is serialized instead. */
const TEXT_HOLE = '\u0000text\u0000'
const NUMBER_HOLE = 9_007_199_254_740_881

/** `build` must put the text and the number into its value unchanged. */
export function jsonTemplate(build: (text: string, number: number) => object): JsonTemplate {
  const whole = JSON.stringify(build(TEXT_HOLE, NUMBER_HOLE))
  const aroundText = whole.split(JSON.stringify(TEXT_HOLE))
  const [before = '', after = '', ...more] = aroundText
  if (aroundText.length < 2 || more.length > 0) return plain(build)
  const hole = String(NUMBER_HOLE)
  const [first = '', ...others] = before.split(hole)
  const [second = '', ...rest] = after.split(hole)
  if (others.length === 1 && rest.length === 0)
    return { json: (text, number) => first + number + others[0] + text + after }
  if (others.length === 0 && rest.length === 1)
    return { json: (text, number) => before + text + second + number + rest[0] }
  if (others.length === 0 && rest.length === 0) return { json: (text) => before + text + after }
  return plain(build)
}

function plain(build: (text: string, number: number) => object): JsonTemplate {
  return { json: (text, number) => JSON.stringify(build(JSON.parse(text) as string, number)) }
}
