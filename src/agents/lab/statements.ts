/** Grammar of lab scripts: one table for the parser, the types and docs/lab.md. */

export type ArgumentRule =
  | {
      readonly form: 'number'
      readonly field: string
      readonly placeholder: string
      readonly max: number
      readonly keyword?: string
      readonly optional?: true
    }
  /** One word, or quoted text. */
  | { readonly form: 'name'; readonly field: string; readonly placeholder: string }
  /** Everything up to the end of the statement, or quoted text. */
  | { readonly form: 'text'; readonly field: string; readonly placeholder: string; readonly optional?: true }
  /** An optional keyword. */
  | { readonly form: 'flag'; readonly field: string; readonly placeholder: string; readonly optional: true }

export interface StatementRule {
  readonly takes: readonly ArgumentRule[]
  readonly does: string
}

/** Longest script, in characters. */
export const SCRIPT_CHARS_MAX = 65_536
export const SCRIPT_STATEMENTS_MAX = 1000
/** Longest NAME, in characters. */
export const NAME_CHARS_MAX = 256

const COUNT = { form: 'number', field: 'count', placeholder: 'N', max: 1_000_000 } as const
const DEPTH = { form: 'number', field: 'depth', placeholder: 'N', max: 10_000 } as const
const ATTEMPTS = { form: 'number', field: 'attempts', placeholder: 'ATTEMPTS', max: 1000, optional: true } as const
const TOKENS_IN = { form: 'number', field: 'inputTokens', placeholder: 'IN', max: 1_000_000_000 } as const
const TOKENS_OUT = { form: 'number', field: 'outputTokens', placeholder: 'OUT', max: 1_000_000_000 } as const
const KB = { form: 'number', field: 'kib', placeholder: 'KB', max: 65_536 } as const
const MS = { form: 'number', field: 'ms', placeholder: 'MS', max: 86_400_000 } as const
const MS_MAYBE = { ...MS, optional: true } as const
const EVERY = {
  form: 'number',
  field: 'everyMs',
  placeholder: 'MS',
  max: MS.max,
  keyword: 'every',
  optional: true,
} as const
const NAME = { form: 'name', field: 'name', placeholder: 'NAME' } as const
const FAIL = { form: 'flag', field: 'fail', placeholder: 'fail', optional: true } as const
const IDEMPOTENT = { form: 'flag', field: 'idempotent', placeholder: 'idempotent', optional: true } as const
const TEXT = { form: 'text', field: 'text', placeholder: 'TEXT' } as const
const TEXT_MAYBE = { ...TEXT, optional: true } as const
const MESSAGE = { form: 'text', field: 'message', placeholder: 'MESSAGE' } as const
const MESSAGE_MAYBE = { ...MESSAGE, optional: true } as const
const QUESTION = { form: 'text', field: 'question', placeholder: 'QUESTION' } as const

export const statementTable = {
  // What an answer is made of
  text: { takes: [COUNT, EVERY], does: 'Emits N text deltas, each with its number as `[n]`; waits MS after each.' },
  say: { takes: [TEXT], does: 'Emits one text delta that is exactly TEXT.' },
  big: { takes: [KB], does: 'Emits one text delta of KB kibibytes.' },
  reason: {
    takes: [COUNT, EVERY],
    does: 'Emits N reasoning deltas, each with its number as `[n]`; waits MS after each.',
  },
  artifact: { takes: [NAME, KB], does: 'Emits an artifact of KB kibibytes, in chunks of 64.' },
  state: { takes: [NAME], does: 'Puts NAME into the shared state: the first replaces the state, later ones patch it.' },
  usage: {
    takes: [TOKENS_IN, TOKENS_OUT],
    does: 'Emits a model request and its response, with that many tokens in and out.',
  },
  custom: { takes: [NAME], does: 'Emits a custom event NAME with a number.' },

  // Work, waiting and people
  step: { takes: [NAME, MS_MAYBE], does: 'Does a memoized step that takes MS.' },
  tool: {
    takes: [NAME, FAIL, IDEMPOTENT, MS_MAYBE],
    does: 'Calls a tool that takes MS; with `fail` it throws and the script continues; `idempotent`: it may be repeated.',
  },
  ask: { takes: [QUESTION], does: 'Pauses until someone answers, then emits the answer as the custom event `answer`.' },
  sleep: { takes: [MS], does: 'Waits.' },
  hang: { takes: [], does: 'Waits until the run is aborted.' },
  'ignore-abort': { takes: [], does: 'From here on no wait ends by an abort; `hang` then never ends.' },

  // Values that are hard to serialize, each in a custom event named after the statement
  date: { takes: [], does: 'Emits a Date, 2001-02-03T04:05:06.789Z.' },
  bytes: { takes: [], does: 'Emits a Uint8Array of the bytes 0 to 255.' },
  bigint: { takes: [], does: 'Emits a BigInt, two to the power of 64.' },
  nan: { takes: [], does: 'Emits NaN.' },
  deep: { takes: [DEPTH], does: 'Emits objects nested N deep.' },
  circular: { takes: [], does: 'Emits an object that contains itself.' },
  function: { takes: [], does: 'Emits a function.' },
  getter: { takes: [], does: 'Emits an object with a getter that throws.' },
  bogus: { takes: [], does: 'Emits something that is not an event.' },

  // Ways to end
  complete: {
    takes: [TEXT_MAYBE],
    does: 'Emits `run.completed` itself, with TEXT as its output; what follows is output after the end.',
  },
  fail: { takes: [MESSAGE], does: 'Emits `run.failed` itself.' },
  reject: { takes: [MESSAGE], does: 'Refuses the run.' },
  throw: { takes: [MESSAGE], does: 'Throws an Error.' },
  'throw-string': { takes: [MESSAGE_MAYBE], does: 'Throws a string, not an Error.' },
  die: {
    takes: [ATTEMPTS],
    does: 'The process kills itself with SIGKILL; with ATTEMPTS, only in that many first attempts of the run.',
  },
} as const satisfies Readonly<Record<string, StatementRule>>

type Table = typeof statementTable

export type StatementName = keyof Table

interface MayBeAbsent {
  readonly optional: true
}

type ValueOf<Rule> = Rule extends { form: 'number' } ? number : Rule extends { form: 'flag' } ? true : string

type FieldsOf<Rules extends ArgumentRule> = {
  readonly [Rule in Rules as Rule extends MayBeAbsent ? never : Rule['field']]: ValueOf<Rule>
} & {
  readonly [Rule in Rules as Rule extends MayBeAbsent ? Rule['field'] : never]?: ValueOf<Rule>
}

/** The statement of that name; the union of all without one. */
export type Statement<Name extends StatementName = StatementName> = {
  [Each in Name]: { readonly type: Each } & FieldsOf<Table[Each]['takes'][number]>
}[Name]

export function isStatementName(value: string): value is StatementName {
  return Object.hasOwn(statementTable, value)
}

export function rulesOf(name: StatementName): readonly ArgumentRule[] {
  return statementTable[name].takes
}

/** How an argument is written, such as `[every MS]`. */
export function usageOfArgument(rule: ArgumentRule): string {
  const written =
    rule.form === 'number' && rule.keyword !== undefined ? `${rule.keyword} ${rule.placeholder}` : rule.placeholder
  return 'optional' in rule && rule.optional ? `[${written}]` : written
}

/** How a statement is written, such as `text N [every MS]`. */
export function usageOf(name: StatementName): string {
  return [name, ...rulesOf(name).map(usageOfArgument)].join(' ')
}
