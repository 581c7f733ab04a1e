/** Option tables, the source for flag and environment parsing, help and documentation. */
import { parseArgs } from 'node:util'
import { HoldfastError, isHoldfastError, messageOf } from '../core/model/errors.ts'

export interface Option<Value = unknown> {
  /** One sentence for the help and the documentation. */
  readonly help: string
  /** Placeholder for the value in the help; a flag without it is a switch. */
  readonly value?: string
  /** Environment variable with the same meaning; flags take precedence. */
  readonly env?: string
  /** The variable's name in other programs; `env` takes precedence. */
  readonly alias?: string
  /** Default value, as a user would write it. */
  readonly fallback?: string
  /** Throws on an invalid value. */
  readonly parse: (text: string) => Value
}

/** By flag, without the dashes. */
export type OptionTable = Readonly<Record<string, Option>>

export type OptionValues<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name] extends { readonly fallback: string }
    ? ReturnType<Table[Name]['parse']>
    : ReturnType<Table[Name]['parse']> | undefined
}

export type Environment = Readonly<Record<string, string | undefined>>

export interface ParsedOptions<Table extends OptionTable> {
  readonly values: OptionValues<Table>
  /** Arguments that are not flags, in order. */
  readonly positionals: readonly string[]
}

/** Throws `invalid_request`, or the error of an option's `parse`, with a message for the user. */
export function parseOptions<Table extends OptionTable>(
  table: Table,
  argv: readonly string[],
  env: Environment,
): ParsedOptions<Table> {
  const fromEnvironment = readEnvironment(table, env)
  const { given: fromFlags, positionals } = readFlags(table, argv)
  const values: Record<string, unknown> = {}
  for (const [name, option] of Object.entries(table)) {
    const given = fromFlags.get(name) ?? fromEnvironment.get(name)
    values[name] = given === undefined ? fallbackOf(option) : parseGiven(option, given)
  }
  return { values: values as OptionValues<Table>, positionals }
}

interface GivenFlag {
  readonly text: string
  /** The flag or variable name. */
  readonly source: string
}

function fallbackOf({ fallback, parse }: Option): unknown {
  return fallback === undefined ? undefined : parse(fallback)
}

function parseGiven(option: Option, { text, source }: GivenFlag): unknown {
  // An empty value is usually an unset variable, which must not silently turn something off.
  if (text === '') throw usage(`${source} is empty: set a value, or leave it out`)
  try {
    return option.parse(text)
  } catch (cause) {
    const code = isHoldfastError(cause) ? cause.code : 'invalid_request'
    throw new HoldfastError(code, `${source}: ${messageOf(cause)}`, { cause })
  }
}

function readFlags(table: OptionTable, argv: readonly string[]) {
  const given = new Map<string, GivenFlag>()
  const positionals: string[] = []
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { value }]) => [
      name,
      { type: value === undefined ? 'boolean' : 'string' } as const,
    ]),
  )
  const shape = { strict: false, tokens: true, allowPositionals: true, allowNegative: true } as const
  for (const token of parseArgs({ ...shape, args: [...argv], options }).tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind === 'option') given.set(token.name, { text: flagText(table, token), source: token.rawName })
  }
  return { given, positionals }
}

interface FlagToken {
  readonly name: string
  readonly rawName: string
  readonly value: string | undefined
  readonly inlineValue: boolean | undefined
}

function flagText(table: OptionTable, { name, rawName, value, inlineValue }: FlagToken): string {
  const option = Object.hasOwn(table, name) ? table[name] : undefined
  const negated = rawName === `--no-${name}`
  if (option === undefined || (negated && option.value !== undefined)) throw unknownFlag(table, rawName)
  if (option.value === undefined) return value ?? String(!negated)
  if (value === undefined || (!inlineValue && /^--?[a-z]/i.test(value))) {
    throw usage(`${rawName} needs a value: ${rawName} ${option.value}`)
  }
  return value
}

function unknownFlag(table: OptionTable, rawName: string): HoldfastError {
  const nearest = nearestTo(
    rawName,
    Object.keys(table).map((name) => `--${name}`),
  )
  return usage(
    `unknown flag ${rawName}: ${nearest === undefined ? '--help lists all flags' : `did you mean ${nearest}?`}`,
  )
}

function readEnvironment(table: OptionTable, env: Environment): ReadonlyMap<string, GivenFlag> {
  const known = new Map(Object.entries(table).flatMap(([name, option]) => (option.env ? [[option.env, name]] : [])))
  const aliases = new Map(Object.entries(table).flatMap(([name, { alias }]) => (alias ? [[alias, name]] : [])))
  const given = new Map<string, GivenFlag>()
  for (const [variable, text] of Object.entries(env)) {
    if (text === undefined) continue
    const name = known.get(variable)
    const other = aliases.get(variable)
    if (name !== undefined) given.set(name, { text, source: variable })
    else if (variable.startsWith(ENVIRONMENT_PREFIX)) refuseMistyped(variable, [...known.keys()])
    else if (other !== undefined && env[table[other]!.env!] === undefined) given.set(other, { text, source: variable })
  }
  return given
}

const ENVIRONMENT_PREFIX = 'HOLDFAST_'

/** A mistyped variable must not disable authentication. Variables unlike any of ours are ignored. */
function refuseMistyped(variable: string, known: readonly string[]): void {
  const nearest = nearestTo(variable, known)
  if (nearest !== undefined) throw usage(`unknown variable ${variable}: did you mean ${nearest}?`)
}

function nearestTo(text: string, candidates: readonly string[]): string | undefined {
  const near = candidates.map((candidate) => ({ candidate, edits: editsBetween(text, candidate) }))
  return near.filter(({ edits }) => edits <= EDITS_MAX).toSorted((left, right) => left.edits - right.edits)[0]
    ?.candidate
}

const EDITS_MAX = 2

/** Levenshtein distance. */
function editsBetween(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > EDITS_MAX) return Number.POSITIVE_INFINITY
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let index = 0; index < from.length; index++) {
    const next = [index + 1]
    for (let column = 1; column <= to.length; column++) {
      const replaced = row[column - 1]! + (from[index] === to[column - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[column]! + 1, next[column - 1]! + 1))
    }
    row = next
  }
  return row[to.length]!
}

/** Help for a terminal. Each flag has its own line, so that narrow terminals work too. */
export function helpText(table: OptionTable): string {
  const entries = Object.entries(table)
  return entries.map(([name, option]) => `  ${flagName(name, option)}\n      ${helpOf(option)}\n`).join('')
}

/** `--port PORT` */
export function flagName(name: string, { value }: Option): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`
}

function helpOf({ help, fallback, value, env }: Option): string {
  const notes = [
    ...(fallback !== undefined && value !== undefined ? [`Default: ${fallback}.`] : []),
    ...(env ? [`[${env}]`] : []),
  ]
  return [help, ...notes].join(' ')
}

function usage(message: string): HoldfastError {
  return new HoldfastError('invalid_request', message)
}
