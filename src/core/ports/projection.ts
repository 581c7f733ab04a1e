/**
 * The projection seam: how a protocol sees a log. Pure, so that live and replay are the same function, and subscribers can share
 * what one of them has folded (delivery/shared-view.ts).
 */
import type { LoggedEvent } from '../model/event.ts'
import type { Run } from '../model/run.ts'

export interface Projection<State, Frame> {
  initial(run: Run): State
  /** Must not change `state`: others hold it as a checkpoint. Frames are in wire order; an event may give none. */
  apply(state: State, event: LoggedEvent): ProjectionStep<State, Frame>
  /**
   * The state that `apply` gives after all texts of a stretch, without building frames: most events of a long log are texts.
   * Undefined if they must be applied one by one. Default: always one by one.
   */
  applyTexts?(state: State, texts: TextStretch): State | undefined
}

/** Consecutive `text.delta` events of the run's own component, of one message. None is empty. */
export interface TextStretch {
  readonly run: string
  /** Index of the first one. */
  readonly first: number
  readonly texts: readonly string[]
  readonly times: readonly string[]
  readonly message: string | undefined
}

export interface ProjectionStep<State, Frame> {
  readonly state: State
  readonly frames: readonly Frame[]
}
