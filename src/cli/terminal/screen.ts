/** Redraws the bottom rows of a terminal, below permanent lines. */
import type { Output } from '../io.ts'
import { cut } from './text.ts'

const COLUMNS = 80
const ROWS = 24

export class Screen {
  readonly #output: Output
  #drawnRows = 0

  constructor(output: Output) {
    this.#output = output
  }

  /** The last column stays free, because some terminals wrap when it is written. */
  get columns(): number {
    return (this.#output.columns || COLUMNS) - 1
  }

  get rows(): number {
    return (this.#output.rows || ROWS) - 1
  }

  /** Adds permanent lines and redraws the rows below them. */
  draw(staying: readonly string[], rows: readonly string[]): void {
    const up = this.#drawnRows > 1 ? `\u001b[${this.#drawnRows - 1}A` : ''
    const visible = rows.slice(-this.rows).map((row) => cut(row, this.columns))
    if (this.#drawnRows > 0) this.#control(`${up}\r\u001b[J`)
    this.#output.write(`${staying.map((line) => `${line}\n`).join('')}${visible.join('\n')}`)
    this.#drawnRows = visible.length
  }

  #control(sequences: string): void {
    if (this.#output.control === undefined) this.#output.write(sequences)
    else this.#output.control(sequences)
  }
}
