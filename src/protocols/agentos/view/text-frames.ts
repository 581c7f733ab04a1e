/** The frames of texts that follow each other: they differ only in text, number and time. */
import { type JsonTemplate, jsonTemplate } from '../../../core/model/json-template.ts'
import type { TextStretch } from '../../../core/ports/projection.ts'
import { type Frame, headOf, sharedFamily } from './frame-writer.ts'
import type { Speaker, State } from './state.ts'

/** What a text adds to the head of its frame. */
export function textFields({ kind }: Speaker, text: string): object {
  return {
    content: text,
    ...(kind !== 'team' && { workflow_agent: false }),
    content_type: 'str',
    reasoning_content: '',
  }
}

export function textFrames(state: State, speaker: Speaker, { first, texts, times }: TextStretch): Frame[] {
  const family = sharedFamily(speaker)
  const event = `${family.prefix}RunContent`
  const frames: Frame[] = []
  let second: SecondOfTexts | undefined
  for (let at = 0; at < texts.length; at++) {
    const time = times[at]!
    if (second === undefined || !second.has(time))
      second = new SecondOfTexts(time, speaker, headOf(state, family, event, speaker, time))
    frames.push(new TextFrame(state.next + at, event, first + at, texts[at]!, second))
  }
  return frames
}

/** `2026-01-01T00:00:00` */
const ISO_SECOND_CHARS = 19

/** What texts of the same second share. */
class SecondOfTexts {
  /** To the second, as it is written. */
  readonly #time: string
  readonly #speaker: Speaker
  readonly #head: object
  #template: JsonTemplate | undefined

  constructor(time: string, speaker: Speaker, head: object) {
    this.#time = time.slice(0, ISO_SECOND_CHARS)
    this.#speaker = speaker
    this.#head = head
  }

  has(time: string): boolean {
    return time.startsWith(this.#time)
  }

  data(text: string, index: number): Readonly<Record<string, unknown>> {
    return { ...this.#head, ...textFields(this.#speaker, text), event_index: index }
  }

  json(text: string, index: number): string {
    this.#template ??= jsonTemplate((said, number) => this.data(said, number))
    return this.#template.json(text, index)
  }
}

class TextFrame implements Frame {
  readonly index: number
  readonly event: string
  readonly log: number
  readonly pauses = false
  readonly #text: string
  readonly #second: SecondOfTexts

  constructor(index: number, event: string, log: number, text: string, second: SecondOfTexts) {
    this.index = index
    this.event = event
    this.log = log
    this.#text = text
    this.#second = second
  }

  get data(): Readonly<Record<string, unknown>> {
    return this.#second.data(this.#text, this.index)
  }

  get json(): string {
    return this.#second.json(this.#text, this.index)
  }
}
