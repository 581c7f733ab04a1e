/** A source location, and its code frame. */
import { readFileSync } from 'node:fs'
import { isAbsolute, relative } from 'node:path'
import { printable } from '../../core/model/printable.ts'

export interface SourceLocation {
  readonly path: string
  /** Line and column are 1-based. */
  readonly line: number
  readonly column: number
}

/** Context lines before and after. */
const AROUND = 2
const LINE_CHARS_MAX = 160

/** `file:line:column`, followed by the code frame. */
export function codeFrame({ path, line, column }: SourceLocation): string {
  const head = `  ${shortest(path)}:${line}:${column}`
  const lines = linesOf(path)
  if (lines?.[line - 1] === undefined) return head
  const first = Math.max(1, line - AROUND)
  const last = Math.min(lines.length, line + AROUND)
  const width = String(last).length
  const frame = lines.slice(first - 1, last).flatMap((text, offset) => {
    const number = first + offset
    const row = `  ${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${shownLine(text)}`.trimEnd()
    if (number !== line || column > LINE_CHARS_MAX) return [row]
    return [row, `    ${' '.repeat(width)} | ${' '.repeat(shownLine(text.slice(0, column - 1)).length)}^`]
  })
  return [head, ...frame].join('\n')
}

export function linesOf(path: string): readonly string[] | undefined {
  try {
    return readFileSync(path, 'utf8').trimEnd().split(/\r?\n/)
  } catch {
    return undefined
  }
}

function shownLine(text: string): string {
  return printable(text.slice(0, LINE_CHARS_MAX))
}

/** Relative to the working directory if the file is inside it. */
function shortest(path: string): string {
  const near = relative(process.cwd(), path)
  return near === '' || near.startsWith('..') || isAbsolute(near) ? path : near
}
