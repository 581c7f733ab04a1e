/** Events of texts that continue an artifact. Fields that few streams need are built lazily. */
import type { TextStretch } from '../../../core/ports/projection.ts'
import type { StreamResponse } from '../wire/wire.ts'
import type { Run } from '../../../core/model/run.ts'
import { type ArtifactFold, textChunk } from './artifacts.ts'
import type { Origin, TaskFold, TaskFrame } from './projection.ts'
import { artifactUpdateOf } from './task.ts'

/** Events of consecutive texts differ only in the text. */
export interface ContinuedText {
  readonly text: string
  /** The text as JSON. */
  readonly json: string
  /** The same object for all of them. */
  readonly artifact: ContinuedArtifact
}

class ContinuedArtifact {
  readonly id: string
  readonly #run: Run
  readonly #artifact: ArtifactFold

  constructor(run: Run, artifact: ArtifactFold) {
    this.id = artifact.id
    this.#run = run
    this.#artifact = artifact
  }

  updateWith(text: string): StreamResponse {
    return { artifactUpdate: artifactUpdateOf(this.#run, textChunk(this.#artifact, text)) }
  }
}

/** The last continued text artifact of the run's own component. Its events contain only its id. */
export class OwnTexts {
  #last: ContinuedArtifact | undefined

  continued({ run, artifacts }: TaskFold): ContinuedArtifact {
    const { newest } = artifacts!
    if (this.#last?.id === newest.id) return this.#last
    return (this.#last = new ContinuedArtifact(run, newest))
  }
}

type Continue = (before: TaskFold, stretch: TextStretch) => TaskFold | undefined

/** `stretch` must continue the task `before`. */
export function textFrames(before: TaskFold, stretch: TextStretch, continueTask: Continue): TaskFrame[] {
  const foldAfter = (count: number): TaskFold => continueTask(before, firstOf(stretch, count))!
  const artifact = before.ownTexts.continued(before)
  return stretch.texts.map(
    (text, at) =>
      new TextFrame(before.sequence + at, { text, json: stretch.jsons[at]!, artifact }, stretch, at, foldAfter),
  )
}

function firstOf({ texts, jsons, times, ...rest }: TextStretch, count: number): TextStretch {
  return { ...rest, texts: texts.slice(0, count), jsons: jsons.slice(0, count), times: times.slice(0, count) }
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
