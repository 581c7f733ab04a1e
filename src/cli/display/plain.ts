/** Shows a run in a pipe: its text on standard output, everything else as plain lines on standard error. */
import { isTerminalEvent } from '../../core/structure/run-status.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import type { CommandIo } from '../io.ts'
import { type Style, styleOf } from '../terminal/style.ts'
import { endText, lineText, valueText } from './lines.ts'
import type { Presenter } from './presenter.ts'
import { RunTree } from './tree.ts'

export class PlainPresenter implements Presenter {
  readonly #io: CommandIo
  readonly #style: Style
  readonly #tree = new RunTree()
  #since: number | undefined
  #hasPrinted = false
  #lineIsOpen = false

  constructor(io: CommandIo) {
    this.#io = io
    this.#style = styleOf(io.stderr, io.env)
  }

  event(event: LoggedEvent): void {
    if (event.type === 'run.created') this.#since = Date.parse(event.time)
    // Unescaped: a pipe gets the exact text, and escape sequences do no harm there.
    if (event.type === 'text.delta' && event.actor === undefined) this.#print(event.data.text)
    for (const line of this.#tree.apply(event)) this.note(lineText(line, this.#style))
    if (!isTerminalEvent(event)) return
    if (event.type === 'run.completed' && !this.#hasPrinted && event.data.output !== undefined)
      this.#print(valueText(event.data.output))
    this.close()
    const took = this.#since === undefined ? undefined : Date.parse(event.time) - this.#since
    this.note(endText(event, took, this.#style))
  }

  note(text: string): void {
    this.#io.stderr.write(`${text}\n`)
  }

  close(): void {
    if (this.#lineIsOpen) this.#io.stdout.write('\n')
    this.#lineIsOpen = false
  }

  #print(text: string): void {
    if (text === '') return
    this.#io.stdout.write(text)
    this.#hasPrinted = true
    this.#lineIsOpen = !text.endsWith('\n')
  }
}
