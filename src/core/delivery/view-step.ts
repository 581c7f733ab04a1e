/** The result of folding one slice: frames and their encoded bytes, which subscribers share. */
import { encodeFrames, type Encoded, EncodedParts, type Encoding } from './encoded.ts'
import type { FrameSink } from './fold-batches.ts'
import type { Checkpoint } from './shared-view.ts'

/** Maximum encodings kept per step. Clients of one protocol mostly share one. */
const ENCODINGS_MAX = 8

const encoder = new TextEncoder()

interface KeptEncoding {
  readonly key: string
  readonly text: string
  /** Set once a second subscriber needs it. */
  bytes: Uint8Array | undefined
}

export class ViewStep<State, Frame> {
  readonly before: Checkpoint<State>
  readonly after: Checkpoint<State>
  readonly frames: readonly Frame[]
  /** Log index of each frame. */
  readonly logs: readonly number[]
  /** Positions of the frames that may end a stream. */
  readonly ends: readonly number[]
  /** Mostly one, so a list is cheaper than a map. */
  readonly #kept: KeptEncoding[] = []

  constructor(before: Checkpoint<State>, after: Checkpoint<State>, { frames, logs, ends }: StepFrames<Frame>) {
    this.before = before
    this.after = after
    this.frames = frames
    this.logs = logs
    this.ends = ends
  }

  /**
   * All frames: a text for the first subscriber, which is often the only one, and then bytes, which all others with the encoding share.
   * Frames that are sent in parts are encoded for each.
   */
  encode(encoding: Encoding<Frame>): Encoded {
    const { key } = encoding
    const known = this.#kept.find((kept) => kept.key === key)
    if (known !== undefined) return (known.bytes ??= encoder.encode(known.text))
    const text = encodeFrames(encoding, this.frames)
    if (!(text instanceof EncodedParts) && this.#kept.length < ENCODINGS_MAX)
      this.#kept.push({ key, text, bytes: undefined })
    return text
  }
}

/** Collects the frames of a fold. */
export class StepFrames<Frame> implements FrameSink<Frame> {
  readonly frames: Frame[] = []
  readonly logs: number[] = []
  readonly ends: number[] = []
  readonly #mayEnd: (frame: Frame) => boolean

  constructor(mayEnd: (frame: Frame) => boolean) {
    this.#mayEnd = mayEnd
  }

  add(frames: readonly Frame[], log: number): void {
    for (const frame of frames) {
      if (this.#mayEnd(frame)) this.ends.push(this.frames.length)
      this.frames.push(frame)
      this.logs.push(log)
    }
  }

  addEach(frames: readonly Frame[], first: number): void {
    for (let at = 0; at < frames.length; at++) {
      this.frames.push(frames[at]!)
      this.logs.push(first + at)
    }
  }
}
