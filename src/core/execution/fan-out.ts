/** Limits the recorded work of a run, so that an agent that calls itself endlessly does not exhaust its node. */
import { RunFailure } from './run-failure.ts'
import type { Ledger } from '../recovery/ledger.ts'
import type { Limits } from '../model/limits.ts'
import type { WorkKind } from '../recovery/recorded-work.ts'

export type FanOutLimits = Pick<Limits, 'maxConcurrentWork' | 'maxTotalWork' | 'maxTotalCalls'>

export class FanOut {
  readonly #ledger: Ledger
  readonly #limits: FanOutLimits
  #inFlight = 0

  constructor(ledger: Ledger, limits: FanOutLimits) {
    this.#ledger = ledger
    this.#limits = limits
  }

  /** Throws if the run has reached its total limit. Called before new work gets its key. */
  checkTotal(kind: WorkKind): void {
    const { maxTotalWork, maxTotalCalls } = this.#limits
    if (kind === 'actor' && this.#ledger.calls >= maxTotalCalls)
      throw exceeded(`the run has made ${maxTotalCalls} calls of components`, 'maxTotalCalls')
    if (kind !== 'sleep' && this.#ledger.total >= maxTotalWork)
      throw exceeded(`the run has had ${maxTotalWork} steps, tools, calls and questions`, 'maxTotalWork')
  }

  /** Counts work as in progress until the returned function is called; throws if the limit is reached. */
  enter(kind: WorkKind): () => void {
    if (kind === 'sleep') return () => {}
    const { maxConcurrentWork } = this.#limits
    if (this.#inFlight >= maxConcurrentWork)
      throw exceeded(
        `${maxConcurrentWork} steps, tools, calls and questions of the run are under way: await some of them before others begin`,
        'maxConcurrentWork',
      )
    this.#inFlight++
    return () => void this.#inFlight--
  }
}

function exceeded(what: string, limit: keyof FanOutLimits): RunFailure {
  return new RunFailure('protocol_violation', `${what}: the limit is limits.${limit}`, { limit })
}
