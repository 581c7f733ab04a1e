/** Sanitizes all terminal output: only text and Holdfast's own colours are written, whatever a command forgot to check. */
import { printable } from '../../core/model/printable.ts'
import type { CommandIo, Output } from '../io.ts'

/** The colours of `style.ts`, on and off. */
// oxlint-disable-next-line no-control-regex -- they are control characters
const COLOURS = /(\u001b\[(?:1|2|22|31|32|33|36|39)m)/

/** Makes all control sequences visible except the colours that Holdfast adds. */
export function coloured(text: string): string {
  return text
    .split(COLOURS)
    .map((piece, at) => (at % 2 === 1 ? piece : printable(piece)))
    .join('')
}

/** A pipe gets the unchanged output; a terminal must not be taken over. */
export function safeIo({ stdout, stderr, env }: CommandIo): CommandIo {
  return { stdout: safeOutput(stdout), stderr: safeOutput(stderr), env }
}

function safeOutput(output: Output): Output {
  if (output.isTTY !== true) return output
  return {
    isTTY: true,
    write: (text) => output.write(coloured(text)),
    control: (sequences) => output.write(sequences),
    // Read each time: they change with the window.
    get columns() {
      return output.columns!
    },
    get rows() {
      return output.rows!
    },
  }
}
