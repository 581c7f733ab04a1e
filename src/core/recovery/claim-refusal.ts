/** Decides from its stored state whether a claimed run must fail instead of executing. */
import { RunFailure } from '../execution/run-failure.ts'
import type { EventData, Failure } from '../model/event.ts'
import type { Limits } from '../model/limits.ts'
import type { Run } from '../model/run.ts'
import type { Component } from '../ports/component.ts'
import { interruptedTooOften } from './crash-loop.ts'

export type ReleaseReason = EventData['run.released']['reason']

export function claimRefusal(
  run: Run,
  component: Component | undefined,
  isAnswered: boolean,
  released: ReleaseReason | undefined,
  limits: Limits,
): Failure | undefined {
  const { status, waiting, interruptions = 0 } = run
  if (component === undefined) return { code: 'unsupported', message: `component ${run.component} is no longer served` }
  if (isAnswered || status === 'queued') return undefined
  if (status === 'paused') {
    const prompts = (waiting ?? []).map(({ prompt }) => prompt).join('; ')
    return new RunFailure('deadline_exceeded', `the question was not answered in time: ${prompts}`).failure
  }
  if ((component.recovery ?? 'fail') === 'fail') {
    return new RunFailure('interrupted', interruptionCauses[released ?? 'died']).failure
  }
  // A run that was handed over regularly may be started any number of times.
  return released === 'store_unavailable' && interruptions >= limits.maxInterruptions
    ? interruptedTooOften(interruptions)
    : undefined
}

const interruptionCauses: Readonly<Record<ReleaseReason | 'died', string>> = {
  draining: 'the server that executed the run was shut down',
  answered: 'the server that executed the run was shut down',
  store_unavailable: 'the node that executed the run gave it up because its store was unavailable',
  died: 'the worker that executed the run died',
}
