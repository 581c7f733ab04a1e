/** Ways to show a run as it goes: for a person at a terminal, for a pipe, for a program. */
import type { LoggedEvent } from '../../core/model/event.ts'
import type { CommandIo } from '../io.ts'
import { isTerminal } from '../terminal/style.ts'
import { PlainPresenter } from './plain.ts'
import { TerminalPresenter } from './terminal.ts'

export interface Presenter {
  /** Takes the run's next event. */
  event(event: LoggedEvent): void
  /** Something about the watching, not the run. */
  note(text: string): void
  /** Leaves what was shown in good order. */
  close(): void
}

export interface PresenterOptions {
  readonly json: boolean
  /** Milliseconds since 1970, for what is said of time that passes. */
  readonly now?: () => number
}

export function presenterFor(io: CommandIo, { json, now = Date.now }: PresenterOptions): Presenter {
  if (json) return new JsonPresenter(io)
  return isTerminal(io.stdout, io.env) ? new TerminalPresenter(io, now) : new PlainPresenter(io)
}

/** Every event as a line of JSON. */
class JsonPresenter implements Presenter {
  readonly #io: CommandIo

  constructor(io: CommandIo) {
    this.#io = io
  }

  event(event: LoggedEvent): void {
    this.#io.stdout.write(`${JSON.stringify(event)}\n`)
  }

  note(text: string): void {
    this.#io.stderr.write(`${text}\n`)
  }

  close(): void {}
}
