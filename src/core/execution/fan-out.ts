/** Limits the recorded work of a run, so that an agent that keeps calling itself does not use up its node. */
import { RunFailure } from './run-failure.ts'
import type { Ledger } from '../recovery/ledger.ts'
import type { Limits } from '../model/limits.ts'
import type { WorkKind } from '../recovery/recorded-work.ts'

export type FanOutLimits = Pick<Limits, 'workInFlightMax' | 'workTotalMax' | 'callsTotalMax'>

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
    const { workTotalMax, callsTotalMax } = this.#limits
    if (kind === 'actor' && this.#ledger.calls >= callsTotalMax)
      throw exceeded(`the run has made ${callsTotalMax} calls of components`, 'callsTotalMax')
    if (kind !== 'sleep' && this.#ledger.total >= workTotalMax)
      throw exceeded(`the run has had ${workTotalMax} steps, tools, calls and questions`, 'workTotalMax')
  }

  /** Counts work as in progress until the returned function is called; throws if the limit is reached. */
  enter(kind: WorkKind): () => void {
    if (kind === 'sleep') return () => {}
    const { workInFlightMax } = this.#limits
    if (this.#inFlight >= workInFlightMax)
      throw exceeded(
        `${workInFlightMax} steps, tools, calls and questions of the run are under way: await some of them before others begin`,
        'workInFlightMax',
      )
    this.#inFlight++
    return () => void this.#inFlight--
  }
}

function exceeded(what: string, limit: keyof FanOutLimits): RunFailure {
  return new RunFailure('protocol_violation', `${what}, which is the limit (limits.${limit})`, { limit })
}
