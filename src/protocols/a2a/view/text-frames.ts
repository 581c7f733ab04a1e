/** The events of texts that continue an artifact. What few streams need of them is built when it is read. */
import type { TextStretch } from '../../../core/ports/projection.ts'
import type { StreamResponse } from '../wire/wire.ts'
import { textChunk } from './artifacts.ts'
import type { Origin, TaskFold, TaskFrame } from './projection.ts'
import { artifactUpdateOf } from './task.ts'

/** Events of consecutive texts differ only in the text. */
export interface ContinuedText {
  readonly text: string
  /** The same object for all of them. */
  readonly artifact: ContinuedArtifact
}

class ContinuedArtifact {
  readonly #before: TaskFold

  constructor(before: TaskFold) {
    this.#before = before
  }

  updateWith(text: string): StreamResponse {
    const { run, artifacts } = this.#before
    return { artifactUpdate: artifactUpdateOf(run, textChunk(artifacts!.newest, text)) }
  }
}

type Continue = (before: TaskFold, stretch: TextStretch) => TaskFold | undefined

/** `stretch` continues the task that it is given with. */
export function textFrames(before: TaskFold, stretch: TextStretch, continueTask: Continue): TaskFrame[] {
  const foldAfter = (count: number): TaskFold => continueTask(before, firstOf(stretch, count))!
  const artifact = new ContinuedArtifact(before)
  return stretch.texts.map(
    (text, at) => new TextFrame(before.sequence + at, { text, artifact }, stretch, at, foldAfter),
  )
}

function firstOf({ texts, times, ...rest }: TextStretch, count: number): TextStretch {
  return { ...rest, texts: texts.slice(0, count), times: times.slice(0, count) }
}

class TextFrame implements TaskFrame {
  readonly sequence: number
  readonly last = false
  readonly continued: ContinuedText
  readonly #stretch: TextStretch
  readonly #at: number
  readonly #foldAfter: (count: number) => TaskFold

  constructor(
    sequence: number,
    continued: ContinuedText,
    stretch: TextStretch,
    at: number,
    foldAfter: (count: number) => TaskFold,
  ) {
    this.sequence = sequence
    this.continued = continued
    this.#stretch = stretch
    this.#at = at
    this.#foldAfter = foldAfter
  }

  get update(): StreamResponse {
    const { artifact, text } = this.continued
    return artifact.updateWith(text)
  }

  get fold(): TaskFold {
    return this.#foldAfter(this.#at + 1)
  }

  get origin(): Origin {
    const { first, times } = this.#stretch
    return { index: first + this.#at, time: times[this.#at]!, type: 'text.delta' }
  }
}
