/** Lines that a child process writes, on the output of the server. */
import { printable } from '../../core/model/printable.ts'

/** A terminal obeys control characters; a file keeps them. */
export function writeLine(output: Pick<NodeJS.WriteStream, 'write' | 'isTTY'>, line: string): void {
  output.write(`${output.isTTY ? printable(line) : line}\n`)
}
