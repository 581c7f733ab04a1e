/** The last line of defence of a terminal: whatever a command forgot to check, only text and our own colours are written to it. */
import { printable } from '../../core/model/printable.ts'
import type { CommandIo, Output } from '../io.ts'

/** The colours of `style.ts`, on and off. */
// oxlint-disable-next-line no-control-regex -- they are control characters
const COLOURS = /(\u001b\[(?:1|2|22|31|32|33|36|39)m)/

/** Text of servers and agents, coloured by us: all other control sequences are made visible. */
export function coloured(text: string): string {
  return text
    .split(COLOURS)
    .map((piece, at) => (at % 2 === 1 ? piece : printable(piece)))
    .join('')
}

/** A pipe gets what was written; a person at a terminal must not have it taken over. */
export function safeIo({ stdout, stderr, env }: CommandIo): CommandIo {
  return { stdout: safeOutput(stdout), stderr: safeOutput(stderr), env }
}

function safeOutput(output: Output): Output {
  if (output.isTTY !== true) return output
  return {
    isTTY: true,
    write: (text) => output.write(coloured(text)),
    control: (sequences) => output.write(sequences),
    // They change with the window.
    get columns() {
      return output.columns!
    },
    get rows() {
      return output.rows!
    },
  }
}
