/** Presenters that show a live run: on a terminal, in a pipe, or as JSON. */
import type { LoggedEvent } from '../../core/model/event.ts'
import type { CommandIo } from '../io.ts'
import { isInteractive } from '../terminal/style.ts'
import { PlainPresenter } from './plain.ts'
import { TerminalPresenter } from './terminal.ts'

export interface Presenter {
  event(event: LoggedEvent): void
  /** Shows a message about the connection, not the run. */
  note(text: string): void
  /** Finishes the output. */
  close(): void
}

export interface PresenterOptions {
  readonly json: boolean
  /** Milliseconds since 1970, for elapsed times. */
  readonly now?: () => number
}

export function presenterFor(io: CommandIo, { json, now = Date.now }: PresenterOptions): Presenter {
  if (json) return new JsonPresenter(io)
  return isInteractive(io.stdout, io.env) ? new TerminalPresenter(io, now) : new PlainPresenter(io)
}

/** Prints each event as a line of JSON. */
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
