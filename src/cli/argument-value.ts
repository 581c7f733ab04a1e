/** Parses an input or answer from the command line. */
import { text as readAll } from 'node:stream/consumers'
import { HoldfastError } from '../core/model/errors.ts'
import { toSwitch } from '../server/config/option-values.ts'
import type { OptionTable } from '../server/config/options.ts'

export const valueOptions = {
  text: {
    fallback: 'false',
    parse: toSwitch,
    help: 'Treat the value as text even if it looks like JSON.',
  },
} as const satisfies OptionTable

export const VALUE_RULE =
  'A value of true or false, or one that begins with { or [, is parsed as JSON. Everything else is text. - reads standard input.'

/** Objects, arrays and booleans. Not numbers, which may be meant as text. */
const MEANT_AS_JSON = /^\s*(?:[{[]|(?:true|false)\s*$)/

export async function argumentValue(argument: string, asText: boolean): Promise<unknown> {
  const text = argument === '-' ? (await readAll(process.stdin)).replace(/\n$/, '') : argument
  if (asText || !MEANT_AS_JSON.test(text)) return text
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new HoldfastError(
      'invalid_request',
      `the value looks like JSON but does not parse (${String(cause)}): fix it, or pass it as text with --text`,
    )
  }
}
