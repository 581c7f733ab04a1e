/**
 * Matches what a re-driven agent yields with what its log already holds. While the two agree nothing is written, so a
 * deterministic agent goes on exactly where it was cut; where they part, the rest of the old output is withdrawn.
 */
import type { Encoded } from './emission.ts'
import type { RecordBody } from './record.ts'
import type { RunLog } from './run-log.ts'

type Recorded = { readonly index: number; readonly body: RecordBody }

export class Replay {
  readonly #recorded: AsyncGenerator<Recorded>
  #expected: Recorded | undefined

  private constructor(recorded: AsyncGenerator<Recorded>) {
    this.#recorded = recorded
  }

  /** Undefined when the log holds no output. */
  static async open(recorded: AsyncGenerator<Recorded>): Promise<Replay | undefined> {
    const replay = new Replay(recorded)
    await replay.#advance()
    return replay.#expected === undefined ? undefined : replay
  }

  /** Whether the event is in the log already; `over` when what follows must be written. */
  async match(encoded: Encoded, log: RunLog): Promise<'known' | 'known, over' | 'over'> {
    if (encoded.body !== this.#expected!.body) {
      this.withdrawRest(log)
      return 'over'
    }
    await this.#advance()
    return this.#expected === undefined ? 'known, over' : 'known'
  }

  /** The agent will not yield the rest of what it once did. */
  withdrawRest(log: RunLog): void {
    const from = this.#expected!.index
    log.append({
      type: 'attempt.discarded',
      data: { attempt: log.run.attempt - 1, from, ledger: 'kept', reason: 'diverged' },
    })
  }

  async #advance(): Promise<void> {
    const next = await this.#recorded.next()
    this.#expected = next.done ? undefined : next.value
  }
}
