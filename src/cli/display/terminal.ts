/** Shows a run on a terminal: finished output scrolls up, with a live tree of the current activity below it. */
import { isTerminalEvent } from '../../core/structure/run-status.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import type { CommandIo } from '../io.ts'
import { Screen } from '../terminal/screen.ts'
import { type Style, styleOf } from '../terminal/style.ts'
import { printable } from '../../core/model/printable.ts'
import { duration, firstRow, inOneLine, widthOf } from '../terminal/text.ts'
import { endText, lineText, valueText } from './lines.ts'
import type { Presenter } from './presenter.ts'
import { type OpenNode, RunTree } from './tree.ts'

const SPINNER = Array.from('⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏')
const FRAME_MS = 100

export class TerminalPresenter implements Presenter {
  readonly #screen: Screen
  readonly #style: Style
  readonly #now: () => number
  readonly #tree = new RunTree()
  readonly #timer: NodeJS.Timeout
  /** Permanent lines that are not drawn yet. */
  #staying: string[] = []
  /** The incomplete last line of text. */
  #line = ''
  #hasPrinted = false
  #since: number | undefined
  #activity = 'waits for a worker'
  #ended = false
  #frame = 0

  constructor(io: CommandIo, now: () => number) {
    this.#screen = new Screen(io.stdout)
    this.#style = styleOf(io.stdout, io.env)
    this.#now = now
    this.#timer = setInterval(() => this.#draw(), FRAME_MS)
  }

  event(event: LoggedEvent): void {
    if (event.type === 'run.created') this.#since = Date.parse(event.time)
    this.#activity = activityOf(event) ?? this.#activity
    if (event.type === 'text.delta' && event.actor === undefined) this.#print(event.data.text)
    const lines = this.#tree.apply(event)
    if (lines.length > 0) this.#endLine()
    this.#staying.push(...lines.map((line) => lineText(line, this.#style)))
    if (isTerminalEvent(event)) this.#end(event)
  }

  note(text: string): void {
    this.#endLine()
    this.#staying.push(text)
    this.#draw()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#endLine()
    this.#ended = true
    this.#draw()
  }

  #end(event: Extract<LoggedEvent, { type: `run.${string}` }>): void {
    if (!isTerminalEvent(event)) return
    if (event.type === 'run.completed' && !this.#hasPrinted && event.data.output !== undefined)
      this.#print(valueText(event.data.output))
    this.#endLine()
    this.#ended = true
    const took = this.#since === undefined ? undefined : Date.parse(event.time) - this.#since
    this.#staying.push(endText(event, took, this.#style))
  }

  #print(text: string): void {
    if (text === '') return
    this.#hasPrinted = true
    const lines = (this.#line + printable(text)).split('\n')
    this.#line = lines.pop()!
    this.#staying.push(...lines)
    while (widthOf(this.#line) > this.#screen.columns) {
      const [row, rest] = firstRow(this.#line, this.#screen.columns)
      this.#staying.push(row)
      this.#line = rest
    }
  }

  #endLine(): void {
    if (this.#line !== '') this.#staying.push(this.#line)
    this.#line = ''
  }

  #draw(): void {
    const staying = this.#staying
    this.#staying = []
    this.#screen.draw(staying, this.#ended ? [] : this.#rows())
  }

  #rows(): string[] {
    const now = this.#now()
    const spinner = this.#style.cyan(SPINNER[this.#frame++ % SPINNER.length]!)
    const elapsed = this.#since === undefined ? '' : ` ${this.#style.dim(duration(now - this.#since))}`
    return [
      ...(this.#line === '' ? [] : [this.#line]),
      ...this.#tree.open.map((node) => this.#row(node, spinner, now)),
      `${spinner} ${this.#activity}${elapsed}`,
    ]
  }

  #row({ depth, text, tail, since }: OpenNode, spinner: string, now: number): string {
    const tailText = tail === '' ? '' : this.#style.dim(` ${tail}`)
    return `${'  '.repeat(depth)}${spinner} ${text} ${this.#style.dim(duration(now - since))}${tailText}`
  }
}

/** Short description of the current activity. */
function activityOf(event: LoggedEvent): string | undefined {
  switch (event.type) {
    case 'run.started':
    case 'run.resumed':
    case 'tool.completed':
    case 'step.completed':
      return 'works'
    case 'run.paused':
      return 'waiting for an answer'
    case 'run.released':
      return 'waiting for another worker'
    case 'model.requested':
      return `asks ${inOneLine(event.data.model, 40)}`
    case 'reasoning.delta':
      return 'thinks'
    case 'text.delta':
      return event.actor === undefined ? 'writes' : undefined
    case 'tool.called':
      return 'calling a tool'
    case 'stop.requested':
      return 'stops'
    default:
      return undefined
  }
}
