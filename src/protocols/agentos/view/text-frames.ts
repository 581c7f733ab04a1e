/** Frames of consecutive texts: they differ only in text, number and time. */
import { type JsonTemplate, jsonTemplate } from '../../../core/model/json-template.ts'
import type { TextStretch } from '../../../core/ports/projection.ts'
import { type Frame, headOf, sharedFamily } from './frame-writer.ts'
import type { Speaker, State } from './state.ts'

/** Fields that a text adds to the head of its frame. */
export function textFields({ kind }: Speaker, text: string): object {
  return {
    content: text,
    ...(kind !== 'team' && { workflow_agent: false }),
    content_type: 'str',
    reasoning_content: '',
  }
}

/** `speaker`: the run's own component. */
export function textFrames(state: State, speaker: Speaker, { first, jsons, times }: TextStretch): Frame[] {
  const event = `${sharedFamily(speaker).prefix}RunContent`
  return jsons.map((json, at) => {
    const second = state.ownTexts.at(times[at]!, state, speaker, event)
    return new TextFrame(state.next + at, event, first + at, json, second)
  })
}

/** What frames of the run's own texts share: of what they begin with, only the time ever changes. */
export class OwnTexts {
  #second: SameSecondFrames | undefined

  at(time: string, state: State, speaker: Speaker, event: string): SameSecondFrames {
    if (this.#second?.has(time) === true) return this.#second
    return (this.#second = new SameSecondFrames(
      time,
      speaker,
      headOf(state, sharedFamily(speaker), event, speaker, time),
    ))
  }
}

/** `2026-01-01T00:00:00` */
const ISO_SECOND_CHARS = 19

/** Fields shared by texts of the same second. */
class SameSecondFrames {
  /** Formatted time, to the second. */
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

  /** `text`: as JSON. */
  json(text: string, index: number): string {
    this.#template ??= jsonTemplate((delta, number) => this.data(delta, number))
    return this.#template.json(text, index)
  }
}

class TextFrame implements Frame {
  readonly index: number
  readonly event: string
  readonly log: number
  readonly pauses = false
  /** As JSON. */
  readonly #text: string
  readonly #second: SameSecondFrames

  constructor(index: number, event: string, log: number, text: string, second: SameSecondFrames) {
    this.index = index
    this.event = event
    this.log = log
    this.#text = text
    this.#second = second
  }

  get data(): Readonly<Record<string, unknown>> {
    return this.#second.data(JSON.parse(this.#text) as string, this.index)
  }

  get json(): string {
    return this.#second.json(this.#text, this.index)
  }
}
