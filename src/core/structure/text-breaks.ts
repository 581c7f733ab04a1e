/** Lists the event types that end an actor's current text. */
import type { EventType } from '../model/event.ts'

/** Event types that end an actor's current text: its next text delta starts a new entry. */
export const BREAKS: ReadonlySet<EventType> = new Set([
  'text.completed',
  'reasoning.completed',
  'model.requested',
  'tool.drafted',
  'tool.called',
  'step.started',
  'step.completed',
  'step.failed',
  'step.skipped',
  'actor.completed',
  'actor.failed',
  'state.replaced',
  'state.patched',
  'custom.emitted',
])
/** Event types that end the current text of every actor. */
export const BREAKS_ALL: ReadonlySet<EventType> = new Set([
  'run.started',
  'run.paused',
  'run.completed',
  'run.failed',
  'run.cancelled',
  'run.rejected',
])
