/** Events after which what an actor says is not one text with what it said before. */
import type { EventType } from '../model/event.ts'

/** Events after which an actor's text begins anew. */
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
/** Events after which everyone's does. */
export const BREAKS_ALL: ReadonlySet<EventType> = new Set([
  'run.started',
  'run.paused',
  'run.completed',
  'run.failed',
  'run.cancelled',
  'run.rejected',
])
