/** Refusals of commands, reads and batches, with the same messages in every store. */
import { HoldfastError } from '../../core/model/errors.ts'
import type { RunStatus } from '../../core/model/run.ts'

export function idInUse(id: string): HoldfastError {
  return new HoldfastError('conflict', `run ${id}: the id is in use`)
}

export function notFinished(id: string, status: RunStatus): HoldfastError {
  return new HoldfastError('conflict', `run ${id} is ${status}: stop it first`)
}

export function hasEnded(id: string): HoldfastError {
  return new HoldfastError('closed', `run ${id} has ended: its log is closed`)
}

export function claimedAgain(id: string, epoch: number, writers: number): HoldfastError {
  return new HoldfastError('fenced', `run ${id} was claimed again (epoch ${epoch}, not ${writers})`)
}

export function expectsEvent(id: string, next: number, first: number): HoldfastError {
  return new HoldfastError('fenced', `append to run ${id} refused: expected index ${next}, got ${first}`)
}
