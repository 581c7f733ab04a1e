/**
 * The projection interface: how a protocol renders a log. Projections are pure, so live and replay use the same function, and
 * subscribers can share a fold (delivery/shared-view.ts).
 */
import type { LoggedEvent } from '../model/event.ts'
import type { Run } from '../model/run.ts'

export interface Projection<State, Frame> {
  initial(run: Run): State
  /** Must not change `state`: others keep it as a checkpoint. Frames are in wire order; an event may produce none. */
  apply(state: State, event: LoggedEvent): ProjectionStep<State, Frame>
  /**
   * Applies consecutive texts without creating an object for each: most events of a long log are texts. Undefined if the first one
   * must be applied alone. Default: always one by one.
   */
  applyTexts?(state: State, texts: TextStretch): TextsStep<State, Frame> | undefined
}

/** Consecutive `text.delta` events of the run's own component, of one message. None is empty. */
export interface TextStretch {
  readonly run: string
  /** Index of the first one. */
  readonly first: number
  readonly texts: readonly string[]
  /** The texts as JSON strings, as `JSON.stringify` writes them. */
  readonly jsons: readonly string[]
  readonly times: readonly string[]
  readonly message: string | undefined
}

export interface TextsStep<State, Frame> {
  readonly state: State
  /** One frame for each text, or none at all; no stream ends at one of them. Built when it is called: a fold that only needs the state does not pay for it. */
  frames(): readonly Frame[]
}

export interface ProjectionStep<State, Frame> {
  readonly state: State
  readonly frames: readonly Frame[]
}
