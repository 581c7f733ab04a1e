/** Option tables, the source for flag and environment parsing, help and documentation. */
import { nearestName } from '../../core/model/nearest-name.ts'
import { HoldfastError, isHoldfastError, messageOf } from '../../core/model/errors.ts'

export interface Option<Value = unknown> {
  /** One sentence for the help and the documentation. */
  readonly help: string
  /** Placeholder for the value in the help; a flag without it is a switch. */
  readonly value?: string
  /** Environment variable with the same meaning; flags take precedence. */
  readonly env?: string
  /** The variable's name in other programs; `env` takes precedence. */
  readonly alias?: string
  /** The flag may be given several times; `parse` gets all values, one per line. */
  readonly repeats?: true
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
    const setting = fromFlags.get(name) ?? fromEnvironment.get(name)
    values[name] = setting === undefined ? fallbackOf(option) : parseGiven(option, setting)
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
  const settings = new Map<string, GivenFlag>()
  const positionals: string[] = []
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { value }]) => [
      name,
      { type: value === undefined ? 'boolean' : 'string' } as const,
    ]),
  )
  const shape = { strict: false, tokens: true, allowPositionals: true, allowNegative: true } as const
  const { parseArgs } = process.getBuiltinModule('node:util') // an import would load more of the module
  for (const token of parseArgs({ ...shape, args: [...argv], options }).tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const text = flagText(table, token)
    const before = table[token.name]?.repeats === true ? settings.get(token.name) : undefined
    settings.set(token.name, { text: before === undefined ? text : `${before.text}\n${text}`, source: token.rawName })
  }
  return { given: settings, positionals }
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
  const nearest = nearestName(
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
  const settings = new Map<string, GivenFlag>()
  for (const [variable, text] of Object.entries(env)) {
    if (text === undefined) continue
    const name = known.get(variable)
    const other = aliases.get(variable)
    if (name !== undefined) settings.set(name, { text, source: variable })
    else if (variable.startsWith(ENVIRONMENT_PREFIX)) refuseMistyped(variable, [...known.keys()])
    else if (other !== undefined && env[table[other]!.env!] === undefined)
      settings.set(other, { text, source: variable })
  }
  return settings
}

const ENVIRONMENT_PREFIX = 'HOLDFAST_'

/** A mistyped variable must not disable authentication. Variables unlike any known one are ignored. */
function refuseMistyped(variable: string, known: readonly string[]): void {
  const nearest = nearestName(variable, known)
  if (nearest !== undefined) throw usage(`unknown variable ${variable}: did you mean ${nearest}?`)
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
