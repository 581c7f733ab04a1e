/** Colours, if the terminal supports them and they are not disabled. */
import { styleText } from 'node:util'
import type { Environment } from '../../server/config/options.ts'
import type { Output } from '../io.ts'

const formats = ['bold', 'dim', 'red', 'green', 'yellow', 'cyan'] as const

export type Style = Readonly<Record<(typeof formats)[number], (text: string) => string>>

export function styleOf(output: Output, env: Environment): Style {
  const colours = isInteractive(output, env) && (env['NO_COLOR'] ?? '') === ''
  const paint = formats.map((format) => [
    format,
    (text: string) => (colours ? styleText(format, text, { validateStream: false }) : text),
  ])
  return Object.fromEntries(paint) as Style
}

/** Whether rows can be redrawn. */
export function isInteractive({ isTTY }: Output, env: Environment): boolean {
  return isTTY === true && env['TERM'] !== 'dumb'
}
