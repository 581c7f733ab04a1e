/** What a person writes for an input or an answer, as a value. */
import { text as readAll } from 'node:stream/consumers'
import { HoldfastError } from '../core/model/errors.ts'
import { toSwitch } from '../server/option-values.ts'
import type { OptionTable } from '../server/options.ts'

export const valueOptions = {
  text: {
    fallback: 'false',
    parse: toSwitch,
    help: 'Take what is given as text, also where it looks like JSON.',
  },
} as const satisfies OptionTable

export const VALUE_RULE =
  'true, false, and what begins with { or [ is taken as JSON; all else is text. A dash (-) reads standard input.'

/** Objects, lists, true and false are meant as such; a number may as well be a word. */
const MEANT_AS_JSON = /^\s*(?:[{[]|(?:true|false)\s*$)/

export async function givenValue(given: string, asText: boolean): Promise<unknown> {
  const text = given === '-' ? (await readAll(process.stdin)).replace(/\n$/, '') : given
  if (asText || !MEANT_AS_JSON.test(text)) return text
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new HoldfastError(
      'invalid_request',
      `this begins like JSON and is none (${String(cause)}); --text takes it as text`,
    )
  }
}
