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
}

export interface ProjectionStep<State, Frame> {
  readonly state: State
  readonly frames: readonly Frame[]
}
