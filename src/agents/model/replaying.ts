/** Lets a scripted model detect replay, so that it skips its delays for text that is already in the log. */
import type { RunContext } from '../../core/ports/component.ts'

/** Keyed by the abort signal, the only part of a run that a model gets. */
const contexts = new WeakMap<AbortSignal, RunContext>()

export function noteContext(context: RunContext): void {
  contexts.set(context.signal, context)
}

export function isReplaying(signal: AbortSignal | undefined): boolean {
  return signal !== undefined && contexts.get(signal)?.replaying === true
}
