/** Terminal text: width, truncation, and removal of control characters. */
import { printable } from '../../core/model/printable.ts'

/** A value on one line, truncated. */
export function inOneLine(value: unknown, maxChars = 80): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  // Truncate first: the value may have megabytes.
  const line = printable(text.slice(0, maxChars * 4))
    .replace(/\s+/g, ' ')
    .trim()
  const characters = Array.from(line)
  return characters.length > maxChars || text.length > maxChars * 4
    ? `${characters.slice(0, maxChars - 1).join('')}…`
    : line
}

/** A colour. Printable text has no other control characters. */
const ESCAPE = /(\p{Cc}\[[\d;]*m)/u
const NO_COLUMNS = /^(?:\p{M}|[\u200b-\u200f])$/u
const TWO_COLUMNS =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])$/u

function columnsOf(character: string): number {
  if (NO_COLUMNS.test(character)) return 0
  return TWO_COLUMNS.test(character) ? 2 : 1
}

/** Width in columns, without colours. */
export function widthOf(text: string): number {
  const parts = text.split(ESCAPE).filter((part) => !ESCAPE.test(part))
  return Array.from(parts.join('')).reduce((sum, character) => sum + columnsOf(character), 0)
}

/** Truncates text to a width but keeps the closing colour codes. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  let left = columns - 1
  let visible = ''
  for (const part of text.split(ESCAPE)) {
    if (ESCAPE.test(part)) {
      visible += part
      continue
    }
    for (const character of part) {
      left -= columnsOf(character)
      if (left < 0) break
      visible += character
    }
    if (left < 0) left = Number.NEGATIVE_INFINITY // keep only colours from here on
  }
  return `${visible}…`
}

/** Splits off the first row of a long text, between words if possible. */
export function firstRow(text: string, columns: number): readonly [row: string, rest: string] {
  let width = 0
  let end = 0
  for (const character of text) {
    width += columnsOf(character)
    if (width > columns) break
    end += character.length
  }
  if (end === 0) end = Array.from(text)[0]?.length ?? 0
  const blank = text.lastIndexOf(' ', end)
  return blank > 0 ? [text.slice(0, blank), text.slice(blank + 1)] : [text.slice(0, end), text.slice(end)]
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** `0.4s`, `12s`, `3m 05s`, `2h 10m`, `4d 3h`. */
export function duration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds)
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`
  if (ms < MINUTE_MS) return `${Math.floor(ms / 1000)}s`
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)}m ${pad(Math.floor((ms % MINUTE_MS) / 1000))}s`
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)}h ${pad(Math.floor((ms % HOUR_MS) / MINUTE_MS))}m`
  return `${Math.floor(ms / DAY_MS)}d ${Math.floor((ms % DAY_MS) / HOUR_MS)}h`
}

function pad(value: number): string {
  return String(value).padStart(2, '0')
}

/** `4.2 kB` */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3))
  return power === 0 ? `${bytes} B` : `${(bytes / 1000 ** power).toFixed(1)} ${units[power]}`
}
