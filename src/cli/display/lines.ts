/** Formats the lines of a run's tree and its outcome. */
import type { TerminalEvent } from '../../core/structure/run-status.ts'
import type { Style } from '../terminal/style.ts'
import { duration, inOneLine } from '../terminal/text.ts'
import type { Line, Mark } from './tree.ts'

const marks: Readonly<Record<Mark, readonly [sign: string, colour: keyof Style]>> = {
  started: ['▸', 'cyan'],
  done: ['✓', 'green'],
  failed: ['✗', 'red'],
  skipped: ['–', 'dim'],
  asked: ['?', 'yellow'],
  noted: ['·', 'dim'],
}

export function lineText({ depth, mark, text, detail, tookMs }: Line, style: Style): string {
  const [sign, colour] = marks[mark]
  const took = tookMs === undefined ? '' : ` ${style.dim(duration(tookMs))}`
  const styled = mark === 'noted' ? style.dim(text) : text
  const more = detail === undefined ? '' : style.dim(mark === 'asked' ? ` (${detail})` : ` → ${detail}`)
  return `${'  '.repeat(depth)}${style[colour](sign)} ${styled}${took}${more}`
}

/** One line about the outcome. */
export function endText(event: TerminalEvent, tookMs: number | undefined, style: Style): string {
  const took = tookMs === undefined ? '' : ` after ${duration(tookMs)}`
  switch (event.type) {
    case 'run.completed':
      return `${style.green('✓ completed')}${took}${style.dim(tokensText(event.data.usage))}`
    case 'run.failed': {
      const { code, message, retryable } = event.data.error
      const retry = retryable === true ? style.dim(' (a retry may help)') : ''
      return `${style.red('✗ failed')}${took}: ${inOneLine(code)}: ${inOneLine(message, 500)}${retry}`
    }
    case 'run.cancelled':
      return `${style.yellow('■ stopped')}${took}${reasonText(event.data.reason)}`
    case 'run.rejected':
      return `${style.yellow('■ rejected')}${took}${reasonText(event.data.reason)}`
  }
}

function reasonText(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${inOneLine(reason, 500)}`
}

function tokensText(usage: { readonly inputTokens?: number; readonly outputTokens?: number } | undefined): string {
  if (usage?.inputTokens === undefined && usage?.outputTokens === undefined) return ''
  return `, ${usage.inputTokens ?? 0} tokens in, ${usage.outputTokens ?? 0} out`
}

/** Strings as they are, other values as JSON. */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
}
