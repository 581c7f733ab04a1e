/** Writes a child process's lines to the server's output. */
import { printable } from '../../core/model/printable.ts'

/** Control characters are removed on terminals and kept in files. */
export function writeLine(output: Pick<NodeJS.WriteStream, 'write' | 'isTTY'>, line: string): void {
  output.write(`${output.isTTY ? printable(line) : line}\n`)
}
