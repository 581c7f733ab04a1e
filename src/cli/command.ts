/** Definition of a command, the source for parsing, help, docs/cli.md and shell completion. */
import { HoldfastError } from '../core/model/errors.ts'
import { helpText, type OptionTable, type OptionValues, parseOptions } from '../server/config/options.ts'
import type { CommandIo } from './io.ts'

export interface Example {
  readonly command: string
  readonly description: string
}

export interface Command {
  /** Positional arguments, as the help shows them: `RUN`, `[FILE]`. */
  readonly operands: readonly string[]
  /** Long description, in paragraphs for a terminal. */
  readonly about: string
  readonly examples: readonly Example[]
  readonly options: OptionTable
  /** Resolves with the exit code; throws errors with a message for the user. */
  run(argv: readonly string[], io: CommandIo): Promise<number>
}

export type Catalogue = Readonly<Record<string, CatalogueEntry>>

export interface CatalogueEntry {
  readonly summary: string
  readonly load: () => Promise<Command>
}

export interface Invocation<Table extends OptionTable> {
  readonly values: OptionValues<Table>
  readonly operands: readonly string[]
}

export interface CommandDefinition<Table extends OptionTable> extends Omit<Command, 'run' | 'options'> {
  readonly options: Table
  run(invocation: Invocation<Table>, io: CommandIo): Promise<number>
}

/** A command with an option table and a fixed number of operands. */
export function defineCommand<Table extends OptionTable>(definition: CommandDefinition<Table>): Command {
  return {
    ...definition,
    run(argv, io) {
      const { values, positionals } = parseOptions(definition.options, argv, io.env)
      checkOperands(definition.operands, positionals)
      return definition.run({ values, operands: positionals }, io)
    },
  }
}

function checkOperands(expected: readonly string[], actual: readonly string[]): void {
  const missing = expected[actual.length]
  if (missing !== undefined && !missing.startsWith('['))
    throw new HoldfastError('invalid_request', `${missing} is missing: expected ${expected.join(' ')}`)
  const extra = actual[expected.length]
  if (extra === undefined) return
  const takes = expected.length === 0 ? 'no operands' : expected.join(' ')
  throw new HoldfastError(
    'invalid_request',
    `unexpected ${JSON.stringify(extra)}: the command takes ${takes}. Quote text that contains spaces`,
  )
}

export function usageLine(name: string, { operands }: Command): string {
  return ['holdfast', name, ...operands, '[options]'].join(' ')
}

export function commandHelp(name: string, command: Command): string {
  const width = Math.max(0, ...command.examples.map((example) => example.command.length))
  const examples = command.examples
    .map(({ command: line, description }) => `  ${line.padEnd(width)}   # ${description}\n`)
    .join('')
  const options = helpText(command.options)
  return [
    `Usage: ${usageLine(name, command)}\n\n${command.about}\n`,
    ...(examples === '' ? [] : [`Examples:\n${examples}`]),
    ...(options === '' ? [] : [`Options:\n${options}`]),
  ].join('\n')
}
