/** Lets a model without a network know that its words are in the log already, so that it need not keep its pace for them. */
import type { RunContext } from '../../core/ports/component.ts'

/** By what a model is given of a run: its abort signal. */
const contexts = new WeakMap<AbortSignal, RunContext>()

export function noteContext(context: RunContext): void {
  contexts.set(context.signal, context)
}

export function isReplaying(signal: AbortSignal | undefined): boolean {
  return signal !== undefined && contexts.get(signal)?.replaying === true
}
