/** Refusals of commands, reads and batches, with the same messages in every store. */
import { HoldfastError } from '../../core/model/errors.ts'

export function noRun(id: string): HoldfastError {
  return new HoldfastError('not_found', `run ${id} not found`)
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

export function notFinished(id: string, status: string): HoldfastError {
  return new HoldfastError('conflict', `run ${id} is ${status}: stop it first`)
}

export function idInUse(id: string): HoldfastError {
  return new HoldfastError('conflict', `run ${id}: the id is in use`)
}
